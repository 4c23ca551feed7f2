"""Names in SQL and in properties: quoting, and the parts of a dotted name (PostgreSQL manual, 4.1.1)."""

from __future__ import annotations


def quote_identifier(name: str) -> str:
    """Return ``name`` as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def quote_table(schema: str, table: str) -> str:
    """Return ``"schema"."table"``."""
    return f"{quote_identifier(schema)}.{quote_identifier(table)}"


def quote_literal(text: str) -> str:
    """Return a string constant for commands that take no parameters (replication commands, ``SET``)."""
    return "'" + text.replace("'", "''") + "'"


def split_name(text: str) -> tuple[str, ...]:
    """Return the parts of a dotted name. A part in double quotes may contain dots; two quotes in it stand for one."""
    parts, at = [], 0
    while at <= len(text):
        if text[at : at + 1] == '"':
            end = at + 1
            while end < len(text) and (text[end] != '"' or text[end : end + 2] == '""'):
                end += 2 if text[end] == '"' else 1
            parts.append(text[at + 1 : end].replace('""', '"'))
            at = end + 1
        else:
            end = text.find(".", at)
            end = len(text) if end < 0 else end
            parts.append(text[at:end])
            at = end
        if at >= len(text):
            break
        at += 1
    return tuple(parts)
