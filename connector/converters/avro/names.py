"""Names of Avro's types and fields: the parts of a Connect schema's name, and the option ``scrub.invalid.names``."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote_plus

_VALID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INVALID_LETTER: Final = re.compile(r"[^A-Za-z0-9_]")


def scrubbed(name: str) -> str:
    """Return a name that Avro takes: URL-encoded, other letters than ``A-Z a-z 0-9 _`` replaced by ``_``, an ``x`` before a digit."""
    if not name or _VALID.fullmatch(name):
        return name
    # Java's URLEncoder leaves *-._ as they are; quote_plus leaves ~ too and encodes *. Each of them becomes an underscore in the end.
    encoded = quote_plus(name, safe="*").replace("~", "%7E")
    if encoded[0].isdigit():
        encoded = "x" + encoded
    return _INVALID_LETTER.sub("_", encoded)


def split_name(full: str, scrub: bool) -> tuple[str | None, str]:
    """Return namespace and name of a Connect schema's name; the namespace is None where the name has no dot."""
    parts = full.split(".")
    # Java's split drops empty parts at the end.
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    if scrub:
        parts = [scrubbed(part) for part in parts]
    return (".".join(parts[:-1]) if len(parts) > 1 else None), parts[-1]
