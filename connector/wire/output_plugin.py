"""The output plugins (Debezium property ``plugin.name``): their names, their options, and the adapters of their messages.

:mod:`connector.events.stream` reads pgoutput's messages. An :class:`Adapter` translates those of another plugin into pgoutput's form and
keeps their LSNs. This module does no I/O; :mod:`connector.runner.plugin_frames` brings the catalog's facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from connector.catalog.identifiers import quote_identifier
from connector.catalog.table import CatalogTable
from connector.errors import CdcError, ErrorKind
from connector.wire.decoderbufs import Decoderbufs
from connector.wire.notice import Notice
from connector.wire.wal2json import Wal2Json

PGOUTPUT: Final = "pgoutput"
DECODERBUFS: Final = "decoderbufs"
WAL2JSON: Final = "wal2json"
PLUGINS: Final = (DECODERBUFS, PGOUTPUT, WAL2JSON)

_MESSAGES_SINCE: Final = 140_000
"""The server version whose pgoutput can send logical decoding messages."""

_WAL2JSON: Final = {
    "include-xids": "1",
    "include-timestamp": "1",
    "include-types": "1",
    "include-type-oids": "1",
    "include-typmod": "1",
    "include-not-null": "1",
}


class Adapter(Protocol):
    """Translates another plugin's messages of one stream."""

    @property
    def wanted(self) -> tuple[str, str] | None:
        """Schema and name of the table whose description is needed for the next frame."""

    @property
    def notices(self) -> list[Notice]:
        """Warnings for the log since the last call; the caller removes those that it has logged."""

    def translate(self, frames: Sequence[bytes], out: list[bytes]) -> int:
        """Append ``frames`` in pgoutput's form to ``out``. Returns how many were used: fewer than all if ``wanted`` is set.

        Raises CdcError(PROTOCOL) for messages that are not in the plugin's form.
        """

    def learn(self, table: CatalogTable | None) -> None:
        """Take the description of the table ``wanted``; None if the catalog does not have the table any more."""


def adapter(plugin: str, encoding: str) -> Adapter | None:
    """Return an adapter for ``plugin``, None for pgoutput. ``encoding`` is the database's, as PostgreSQL names it (server_encoding).

    Raises CdcError(SOURCE_SETTING) if Python cannot decode the plugin's texts in that encoding.
    """
    if plugin == PGOUTPUT:
        return None
    codec = _CODECS.get(encoding.upper())
    if codec is None:
        raise CdcError(
            ErrorKind.SOURCE_SETTING,
            f"{plugin} sends texts in the database's encoding, and {encoding} cannot be read here",
            "Set plugin.name=pgoutput and another slot.name: it sends UTF-8",
        )
    return Decoderbufs(codec, unchecked=encoding.upper() == "SQL_ASCII") if plugin == DECODERBUFS else Wal2Json(codec)


def start_options(plugin: str, server_version: int, publication: str, wished: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the options for START_REPLICATION, best first. If a plugin is too old for one choice, the server refuses it: try the next.

    ``publication_names`` is a list of identifiers: without quotes PostgreSQL would change them to lower case, and split them at a comma or
    a blank. ``server_version`` is server_version_num. ``wished`` holds the options of ``slot.stream.params``, which override all others.
    """
    if plugin == DECODERBUFS:
        choices: list[dict[str, str]] = [{}]
    elif plugin == WAL2JSON:
        second = {"format-version": "2", **_WAL2JSON, "include-transaction": "1"}
        # Only releases after 2.5 distinguish NaN from NULL. Format 1 sends a transaction as one message by default.
        choices = [{**second, "numeric-data-types-as-string": "1"}, second, {"write-in-chunks": "1", **_WAL2JSON}]
    else:
        messages = {"messages": "true"} if server_version >= _MESSAGES_SINCE else {}
        choices = [{"proto_version": "1", "publication_names": quote_identifier(publication), **messages}]
    return [{**choice, **wished} for choice in choices]


_CODECS: Final = {
    "UTF8": "utf-8",
    "SQL_ASCII": "utf-8",
    "EUC_JP": "euc_jp",
    "EUC_JIS_2004": "euc_jis_2004",
    "EUC_CN": "gb2312",
    "EUC_KR": "euc_kr",
    "ISO_8859_5": "iso8859-5",
    "ISO_8859_6": "iso8859-6",
    "ISO_8859_7": "iso8859-7",
    "ISO_8859_8": "iso8859-8",
    "KOI8R": "koi8-r",
    "KOI8U": "koi8-u",
    "WIN866": "cp866",
    "WIN874": "cp874",
    **{f"LATIN{number}": f"iso8859-{part}" for number, part in enumerate((1, 2, 3, 4, 9, 10, 13, 14, 15, 16), start=1)},
    **{f"WIN125{number}": f"cp125{number}" for number in range(9)},
}
"""Python's names of PostgreSQL's server encodings (PostgreSQL manual, 24.3 Character Set Support)."""
