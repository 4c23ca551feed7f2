"""Divides a text of SQL into its statements."""

from __future__ import annotations

import re
from typing import Final

TOKEN: Final = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\$(\w*)\$.*?\$\1\$|--[^\n]*|;|[^'\"$;-]+|[$-]", re.DOTALL)


def statements(sql: str) -> list[str]:
    """Cut at semicolons outside of quotes, dollar quotes and comments."""
    found, current = [], ""
    for token in TOKEN.finditer(sql):
        if token[0] == ";":
            found.append(current)
            current = ""
        elif not token[0].startswith("--"):
            current += token[0]
    return [statement.strip() for statement in (*found, current) if statement.strip()]
