"""The scripts and the options that are recorded from Debezium's scripting transforms, and replayed with ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

UNIT: Final = Path(__file__).parent.parent / "unit" / "connector" / "transforms" / "scripting"
SCRIPTS: Final = UNIT / "scripts.txt"
RECORDED: Final = UNIT / "scripts_recorded.json"

_CREATES: Final = "value != null && value.op == 'c'"


def scripts() -> list[str]:
    """Return the recorded scripts: one a line, or several lines between ``<<<`` and ``>>>``; ``##`` begins a remark."""
    found: list[str] = []
    within: list[str] | None = None
    for line in SCRIPTS.read_text(encoding="utf-8").splitlines():
        if line == "<<<":
            within = []
        elif line == ">>>":
            found.append("\n".join(within or ()))
            within = None
        elif within is not None:
            within.append(line)
        elif line.strip() and not line.startswith("##"):
            found.append(line)
    return list(dict.fromkeys(found))


def _filters() -> Iterable[Mapping[str, str]]:
    groovy = {"language": "jsr223.groovy"}
    yield {**groovy, "condition": _CREATES}
    yield from (
        {**groovy, "condition": "value == null", "null.handling.mode": mode} for mode in ("keep", "drop", "evaluate", "EVALUATE", "x")
    )
    yield {**groovy, "condition": _CREATES, "topic.regex": "shop\\..*"}
    yield {**groovy, "condition": _CREATES, "topic.regex": "orders"}
    yield {**groovy, "condition": _CREATES, "topic.regex": ""}
    yield {**groovy, "condition": _CREATES, "topic.regex": "(("}
    yield from (
        {**groovy, "condition": text} for text in ("null", "1", "'true'", "true", "false", "value.op", "", " ", "(", "Boolean.TRUE")
    )
    yield groovy
    yield {"condition": "true"}
    yield from (
        {"language": language, "condition": "true"} for language in ("groovy", "jsr223.", "jsr223.none", "jsr223.Groovy", "x", "", "wasm.x")
    )


def _routers() -> Iterable[Mapping[str, str]]:
    groovy = {"language": "jsr223.groovy"}
    for text in (
        "value?.op == 'c' ? 'made' : null",
        "'a' + topic",
        '"a-${value?.op}"',
        '"a-${value?.op}".toString()',
        "5",
        "''",
        "true",
        "null",
    ):
        yield {**groovy, "topic.expression": text}
        yield {**groovy, "topic.expression": text, "null.handling.mode": "evaluate"}
    yield from ({**groovy, "topic.expression": "'made'", "topic.regex": text} for text in ("shop\\..*", "orders", "", "(("))
    yield groovy


OPTIONS: Final = (*(("Filter", dict(each)) for each in _filters()), *(("ContentBasedRouter", dict(each)) for each in _routers()))
