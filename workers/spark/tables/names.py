"""Names in SQL and on disk."""

from __future__ import annotations

import re


def quoted(name: str) -> str:
    """A name for Spark's SQL, in backticks."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text as a literal of Spark's SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def escaped(name: str) -> str:
    """A name for a folder or a catalog: all characters except letters, digits, ``_`` and ``-`` are percent-encoded as UTF-8.

    Different names stay different. No result begins with a dot or an underscore, because Spark ignores such files.
    """
    plain = re.sub(r"[^\w-]", lambda odd: "".join(f"%{byte:02X}" for byte in odd[0].encode()), name)
    return "%5F" + plain[1:] if plain.startswith("_") else plain
