"""Output plugins by name (Debezium property ``plugin.name``): what they are called, how they are asked, how they are read.

pgoutput's messages are what :mod:`connector.stream` reads; an :class:`Adapter` brings those of another plugin into that form, with
the LSNs they came with. Pure; :mod:`connector.runner.plugin_frames` brings the catalog's facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from connector.decoderbufs import Decoderbufs
from connector.errors import CdcError, ErrorKind
from connector.table import CatalogTable, quote_identifier
from connector.wal2json import Wal2Json

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
    """One stream's reader of another plugin's messages."""

    @property
    def wanted(self) -> tuple[str, str] | None:
        """Schema and name of the table whose description the next frame waits for."""

    @property
    def notices(self) -> list[str]:
        """Lines for the log that have come up; whoever logs them takes them out."""

    def translate(self, frames: Sequence[bytes], out: list[bytes]) -> int:
        """Append ``frames`` in pgoutput's form to ``out``; answers how many were used: fewer than all when ``wanted`` is set.

        Raises CdcError(PROTOCOL) for what is not in the plugin's form.
        """

    def learn(self, table: CatalogTable | None) -> None:
        """The description of the table ``wanted``; None when the catalog has no such table any more."""


def adapter(plugin: str, encoding: str) -> Adapter | None:
    """The reader of ``plugin``, None for pgoutput. ``encoding`` is the database's, as PostgreSQL names it (server_encoding).

    Raises CdcError(SOURCE_SETTING) where the plugin's texts cannot be read in that encoding.
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
    return Decoderbufs(codec) if plugin == DECODERBUFS else Wal2Json(codec)


def start_options(plugin: str, server_version: int, publication: str, wished: Mapping[str, str]) -> list[dict[str, str]]:
    """Options for START_REPLICATION, best first: where the server's plugin is too old for one, it refuses and the next is tried.

    ``publication_names`` is a list of identifiers: unquoted ones would lose their capitals and end at a comma or a blank.
    ``server_version`` is server_version_num, ``wished`` what ``slot.stream.params`` says; it goes over all else.
    """
    if plugin == DECODERBUFS:
        choices: list[dict[str, str]] = [{}]
    elif plugin == WAL2JSON:
        second = {"format-version": "2", **_WAL2JSON, "include-transaction": "1"}
        # Only releases after 2.5 can tell NaN from NULL. The first format sends a transaction in one piece unless told otherwise.
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
"""Python's names of the encodings a database may have (PostgreSQL manual, 24.3 Character Set Support)."""
