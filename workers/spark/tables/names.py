"""Names in SQL and on disk."""

from __future__ import annotations

import re


def quoted(name: str) -> str:
    """A name as Spark's SQL takes any name: in backticks."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text as Spark's SQL takes it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def escaped(name: str) -> str:
    """A name as a folder's or a catalog's: other characters than letters, digits, ``_`` and ``-`` as the percent signs of their UTF-8.

    Different names stay different, and none begins with a dot or an underscore, which Spark takes for hidden.
    """
    plain = re.sub(r"[^\w-]", lambda odd: "".join(f"%{byte:02X}" for byte in odd[0].encode()), name)
    return "%5F" + plain[1:] if plain.startswith("_") else plain
