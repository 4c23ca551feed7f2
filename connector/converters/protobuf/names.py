"""Names of packages, messages and fields: the parts of a Connect schema's name, and the option ``scrub.invalid.names``."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote_plus

from connector.record.connect_record import DataError

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEPT: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_INVALID_LETTER: Final = re.compile(r"[^A-Za-z0-9_]")
_MAP_ENTRY: Final = "Entry"


def scrubbed(name: str) -> str:
    """Return a name that begins with a letter: URL-encoded, other letters than ``A-Z a-z 0-9 _`` replaced by ``_``.

    An ``x`` goes before a digit or an underscore at the beginning.
    """
    if not name or _KEPT.fullmatch(name):
        return name
    # Java's URLEncoder leaves *-._ as they are; quote_plus leaves ~ too and encodes *. Each of them becomes an underscore in the end.
    encoded = quote_plus(name, safe="*").replace("~", "%7E")
    if encoded[0].isdigit() or encoded[0] == "_":
        encoded = "x" + encoded
    return _INVALID_LETTER.sub("_", encoded)


def split_name(full: str, scrub: bool) -> tuple[str | None, str]:
    """Return package and message name of a Connect schema's name; the package is None where the name has no dot."""
    parts = full.split(".")
    # Java's split drops empty parts at the end.
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    if scrub:
        parts = [scrubbed(part) for part in parts]
    return (".".join(parts[:-1]) if len(parts) > 1 else None), parts[-1]


def map_entry(name: str) -> str:
    """Return the name of the message that holds an entry of a map: upper camel case, if there is an underscore, and ``Entry``."""
    return ("".join(word.capitalize() for word in name.split("_")) if "_" in name else name) + _MAP_ENTRY


def identifier(name: str, what: str) -> str:
    """Return the name. Raises DataError for one that Protocol Buffers do not permit."""
    if not _IDENTIFIER.fullmatch(name):
        raise DataError(
            f"The {what} name {name!r} is no valid identifier of Protocol Buffers. Set scrub.invalid.names=true on the converter, or "
            "schema.name.adjustment.mode=avro and field.name.adjustment.mode=avro on the connector"
        )
    return name
