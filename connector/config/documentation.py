"""Write ``docs/config.md`` from the table: ``python -m connector.config.documentation > docs/config.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

from connector.config.keys import ALIASES, DEFAULT_VERSION, FAMILIES, FORMER_VALUES, KEYS, UNTIL_2, VERSIONS, Key

_OTHERS: Final = " or ".join(version for version in VERSIONS if version != DEFAULT_VERSION)
_INTRODUCTION: Final = f"""# Configuration of a connector

This page is made from the table in `connector/config/keys`; change the table, then run
`python -m connector.config.documentation > docs/config.md`.

Types are Kafka's. A LIST is separated by commas; where its entries are regular expressions, a backslash keeps a comma
within one. Numbers are whole, and durations are in the unit that the name says. Words out of a choice may be in any case.

Each property is one of

- **honoured**: the connector does what the property says; values in parentheses after the word are the only supported ones;
- **refused**: no task runs with any value but the default (and those in parentheses). Of Kafka Connect's own properties such a
  value is an error when the configuration is saved. Of the connector's it is a warning then, as Debezium accepts it, and an error
  with the worker property `preflight=refuse`;
- **ignored**: the property is taken, does nothing, and the log says why.

Version {DEFAULT_VERSION} is emulated unless `connector.plugin.version` asks for {_OTHERS}.
A property marked with a version is listed by that version alone. One marked *unlisted* is read, but no version shows it when it
validates a configuration. The groups are those of {DEFAULT_VERSION}; 3.7.0.Final has others, and lists some of the unlisted properties.

"""


def render() -> str:
    """Return the page."""
    lines = [_INTRODUCTION.rstrip("\n"), ""]
    shown = [key for key in KEYS if not key.internal]
    for group in dict.fromkeys(key.group for key in shown):
        lines += [f"## {_title(group)}", "", *_table(key for key in shown if key.group == group), ""]
    lines += ["## Internal properties", "", "For the connector's authors; they may change without notice.", ""]
    lines += [*_table(key for key in KEYS if key.internal), ""]
    lines += [
        "## Properties with names of your own in them",
        "",
        "| Property | | Meaning |",
        "|---|---|---|",
        *(f"| `{_code(family.shown)}` | {_standing(family.support, family.reason)} | {_text(family.doc)} |" for family in FAMILIES),
        "",
        "## Former names",
        "",
        "They work, and the log names the new one. Where both are set the new one counts. A former name has no effect where the new one",
        "would refuse its value.",
        "",
        "| Former | Now | |",
        "|---|---|---|",
    ]
    for alias in ALIASES:
        words = ", ".join(f"`{old}` becomes `{new}`" for old, new in alias.values)
        lines.append(f"| `{alias.old}` | `{alias.new}` | {words} |")
    lines += ["", "| Property | Former value | Now |", "|---|---|---|"]
    lines += [f"| `{name}` | `{old}` | `{new}` |" for name, former in FORMER_VALUES.items() for old, new in former.items()]
    return "\n".join(lines) + "\n"


def _title(group: str) -> str:
    return {
        "Postgres": "Postgres: connection, slot and publication",
        "Connector": "Connector: how it runs and how values look",
        "Events": "Events: which there are and what they hold",
        "offsets.topic": "Offsets topic",
        "Unlisted": "Unlisted properties",
        "Task": "Set by the worker",
        "Worker": "Settings of the worker",
        "Engine": "Settings of the embedded engine",
    }.get(group, group)


def _table(keys: Iterable[Key]) -> list[str]:
    rows = ["| Property | Type | Default | Importance | | Meaning |", "|---|---|---|---|---|---|"]
    for key in keys:
        default = "" if key.default is None else f"`{_code(key.default)}`" if key.default else "empty"
        meaning = _text(key.doc)
        if key.enumerated:
            meaning += f" One of {', '.join(f'`{choice}`' for choice in (*key.choices, *key.unlisted_choices))}."
        if key.choices_until_2:
            meaning += f" {' and '.join(UNTIL_2)}: {', '.join(f'`{choice}`' for choice in key.choices_until_2)}."
        if key.read_only:
            meaning += " *(unlisted)*"
        elif key.versions != VERSIONS:
            meaning += f" *({', '.join(key.versions)})*"
        if key.unknown_until_2:
            meaning += f" {' and '.join(UNTIL_2)}: unknown, no effect."
        standing = _standing(key.support, key.reason, key.allowed)
        rows.append(f"| `{_code(key.name)}` | {key.type} | {default} | {key.importance} | {standing} | {meaning} |")
    return rows


def _standing(support: str, reason: str, allowed: tuple[str, ...] | None = None) -> str:
    values = [f"`{value}`" for value in allowed or () if value]
    text = f"**{support}**" + (f" ({', '.join(values)})" if values else "")
    return text + (f": {_text(reason)}" if reason else "")


def _text(text: str) -> str:
    """Escape what Markdown would read as a cell's end or as HTML."""
    return _code(text).replace("<", "&lt;")


def _code(text: str) -> str:
    """Escape what would end a table's cell, even between backticks."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(render())
