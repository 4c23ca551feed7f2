"""The documentation says what the program does, as far as a program can tell; its links lead somewhere.

``python -P tests/unit/docs/test_docs.py`` writes the tables of the state machine into ``docs/architecture.md`` again.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, cast

import pytest
from starlette.routing import Route

from connect_api.app import create_app
from connect_api.herder import Herder
from connector.errors import DIRECTIVES, ErrorKind
from connector.events.envelope import DEFAULT_FORM
from connector.events.transitions import ANSWERS, TRANSITIONS, State
from connector.wire import pgoutput
from tests.support.each_case import each_case
from tests.support.project import ROOT
from workers.secret_stores.classes import STORE_CLASSES
from workers.settings.config_providers import PROVIDER_CLASSES
from workers.settings.image_variables import from_environment
from workers.settings.keys import HONOURED, REFUSED
from workers.telemetry.loggers import JAVA

DOCS: Final = ROOT / "docs"
PAGES: Final = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
MESSAGES: Final = (
    "BEGIN",
    "COMMIT",
    "ORIGIN",
    "RELATION",
    "TYPE",
    "INSERT",
    "UPDATE",
    "DELETE",
    "TRUNCATE",
    "MESSAGE",
)
SHORT_VARIABLES: Final = {
    "BOOTSTRAP_SERVERS": "bootstrap.servers",
    "GROUP_ID": "group.id",
    "CONFIG_STORAGE_TOPIC": "config.storage.topic",
    "OFFSET_STORAGE_TOPIC": "offset.storage.topic",
    "STATUS_STORAGE_TOPIC": "status.storage.topic",
    "KEY_CONVERTER": "key.converter",
    "VALUE_CONVERTER": "value.converter",
    "OFFSET_FLUSH_INTERVAL_MS": "offset.flush.interval.ms",
    "SHUTDOWN_TIMEOUT": "task.shutdown.graceful.timeout.ms",
    "HOST_NAME": "rest.advertised.host.name",
    "ADVERTISED_HOST_NAME": "rest.advertised.host.name",
    "ADVERTISED_PORT": "rest.advertised.port",
    "CONNECT_SESSION_TIMEOUT_MS": "session.timeout.ms",
}
LOGGING: Final = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical"})
_WORDS: Final = {State.BETWEEN: "between transactions", State.INSIDE: "inside a transaction"}
_FENCE: Final = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def transitions() -> str:
    """The transition table as Markdown."""
    tags = {name: cast("int", getattr(pgoutput, name)) for name in MESSAGES}
    unnamed = {tag for row in TRANSITIONS.values() for tag in row} - set(tags.values())
    assert not unnamed, f"give these messages a name here: {unnamed}"
    lines = ["| message | " + " | ".join(_WORDS[state] for state in State) + " |", "|---|" + "---|" * len(State)]
    for name, tag in tags.items():
        cells = [TRANSITIONS[state].get(tag) for state in State]
        lines.append(f"| {name} | " + " | ".join("-" if cell is None else f"→ {_WORDS[cell]}" for cell in cells) + " |")
    return "\n" + "\n".join(lines) + "\n\n"


def answers() -> str:
    """The table of what ``feed`` answers as Markdown."""
    lines = ["| answer | why | " + " | ".join(_WORDS[state] for state in State) + " | before the caller feeds the other frames |"]
    lines.append("|---|---|" + "---|" * len(State) + "---|")
    for answer, rule in ANSWERS.items():
        cells = ["yes" if state in rule.states else "-" for state in State]
        then = rule.then if rule.call is None else f"{rule.then}, and call `{rule.call}`"
        lines.append(f"| `{answer.__name__}` | {rule.why} | {' | '.join(cells)} | {then} |")
    return "\n" + "\n".join(lines) + "\n\n"


GENERATED: Final = {
    re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL): table
    for name, table in (("transitions", transitions), ("answers", answers))
}


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", _FENCE.sub("", text_of(page)), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        found.add(slug if slug not in found else f"{slug}-1")
    return found


def links(page: Path) -> Iterator[str]:
    """Targets of links into the repository."""
    for target in _LINK.findall(_FENCE.sub("", text_of(page))):
        if "://" not in target and not target.startswith("mailto:"):
            yield target


def uneven_rows(text: str) -> list[str]:
    """Rows of tables that have more or fewer cells than the line below the head of their table, which divides it from the rows."""
    found: list[str] = []
    lines = _FENCE.sub("", text).splitlines()
    for number, line in enumerate(lines):
        if not re.fullmatch(r"\|(?: *:?-+:? *\|)+", line.strip()):
            continue
        rest = itertools.takewhile(lambda row: row.lstrip().startswith("|"), lines[number + 1 :])
        found += [row for row in (lines[number - 1], *rest) if _cells(row) != _cells(line)]
    return found


def _cells(row: str) -> int:
    """A bar divides cells even inside code, unless it is escaped."""
    return len(re.findall(r"(?<!\\)\|", row)) - 1


def rows(page: Path, heading: str) -> list[list[str]]:
    """Cells of the first table after a heading, without its head."""
    lines = text_of(page).partition(f"{heading}\n")[2].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|---"))
    table: list[list[str]] = []
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return table


@pytest.mark.parametrize(("section", "table"), GENERATED.items(), ids=[table.__name__ for table in GENERATED.values()])
def test_the_tables_of_the_state_machine_are_the_program_s(section: re.Pattern[str], table: Callable[[], str]) -> None:
    found = section.search(text_of(DOCS / "architecture.md"))
    assert found is not None
    assert found[0] == found[1] + table() + found[2], "run: python -P tests/unit/docs/test_docs.py"


@each_case("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists() or (anchor and anchor not in anchors(place)):
            broken.append(target)
    assert broken == []


def test_every_page_can_be_reached_from_the_first() -> None:
    named = {target.partition("#")[0] for target in links(DOCS / "index.md")}
    assert [page.name for page in DOCS.glob("*.md") if page.name != "index.md" and page.name not in named] == []


def test_the_runbook_has_an_anchor_for_every_kind_of_error() -> None:
    assert [kind.value for kind in ErrorKind if kind.value not in anchors(DOCS / "runbook.md")] == []


def test_the_runbook_says_what_the_worker_does() -> None:
    reported = {re.sub(r"\[(\w+)\].*", r"\1", kind): directive for kind, directive, _short in rows(DOCS / "runbook.md", "# Runbook")}
    assert reported == {kind.value: directive.value for kind, directive in DIRECTIVES.items()}


def test_the_table_of_calls_is_the_interface_s() -> None:
    app = create_app(cast("Herder", None))
    offered = {
        f"{method} {path.replace(':segment', '')}"
        for route in app.routes
        if isinstance(route, Route) and (path := route.path)
        for method in (route.methods or set()) - {"HEAD", "OPTIONS"}
    }
    table = rows(DOCS / "compatibility.md", "## REST calls")
    reported = {call.strip("`"): answer for call, answer, _notes in table}
    assert {call for call, answer in reported.items() if answer == "yes"} == offered
    assert {answer for call, answer in reported.items() if call not in offered} <= {"**no**"}


def test_operations_names_what_java_s_loggers_stand_for() -> None:
    reported = re.findall(r"^\| `((?:io|org)\.[\w.]+)` \| (.+) \|$", text_of(DOCS / "operations.md"), re.MULTILINE)
    assert dict(reported) == {java: ", ".join(f"`{name}`" for name in ours) for java, ours in JAVA.items()}


def test_operations_names_every_setting_that_counts() -> None:
    page = text_of(DOCS / "operations.md")
    assert [key for key in sorted(HONOURED | REFUSED.keys()) if f"`{key}`" not in page] == []


def test_the_page_of_secrets_names_every_provider_and_parameter() -> None:
    page = text_of(DOCS / "secrets.md")
    assert {name.strip("`") for name, *_ in rows(DOCS / "secrets.md", "# Secrets")} == PROVIDER_CLASSES.keys() | STORE_CLASSES.keys()
    assert [name for store in STORE_CLASSES.values() for name in sorted(store.parameters) if f"`{name}`" not in page] == []


@each_case(("variable", "key"), SHORT_VARIABLES.items())
def test_environment_variables_do_what_the_page_says(variable: str, key: str) -> None:
    assert list(from_environment({variable: "1"})) == [key]
    assert f"`{variable}`" in text_of(DOCS / "operations.md") or variable.startswith("CONNECT_")


@each_case("page", PAGES, ids=lambda page: page.name)
def test_json_is_json(page: Path) -> None:
    for language, block in _FENCE.findall(text_of(page)):
        if language == "json":
            json.loads(block)


def test_the_event_on_the_page_has_the_form_of_the_program_s() -> None:
    blocks = [json.loads(block) for language, block in _FENCE.findall(text_of(DOCS / "events.md")) if language == "json"]
    [event] = [block for block in blocks if "op" in block]
    assert list(event["source"]) == [field.name for field in DEFAULT_FORM.source.fields]
    ends = json.loads(b'{"source":0' + DEFAULT_FORM.end(b"u", 0))
    assert list(event) == ["before", "after", *ends]


@each_case("page", PAGES, ids=lambda page: page.name)
def test_the_rows_of_a_table_have_as_many_cells_as_its_head(page: Path) -> None:
    """Surplus cells are not shown."""
    assert uneven_rows(text_of(page)) == []


def test_an_uneven_row_is_found() -> None:
    table = "| a | b |\n|---|---|\n| `x \\| y` | 1 |\n"
    assert uneven_rows(table) == []
    assert uneven_rows(table + "| 1 |\n| 1 | 2 | 3 |\n") == ["| 1 |", "| 1 | 2 | 3 |"]


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """The site's strict build fails without it, which only the long tests would show."""
    navigation = text_of(ROOT / "mkdocs.yml").partition("\nnav:\n")[2]
    assert navigation
    assert [page.name for page in DOCS.glob("*.md") if page.name not in navigation] == []


@pytest.mark.parametrize(
    ("heading", "package"),
    [
        ("### Rooms of the connector", "connector"),
        ("### Rooms of the worker", "workers"),
        ("The Spark jobs have rooms of their own", "workers.spark"),
    ],
)
def test_the_tables_of_rooms_are_the_layers_of_the_import_rules(heading: str, package: str) -> None:
    """These rules must name every room, so that no room is missing in the table either."""
    options = tomllib.loads(text_of(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]
    [layers] = [rule["layers"] for rule in options if rule["type"] == "layers" and rule["containers"] == [package]]
    folder = Path(package.replace(".", "/"))
    text = text_of(DOCS / "architecture.md")
    start = next(line for line in text.splitlines() if line.startswith(heading))
    named = [re.findall(r"`([^`]+)`", room) for room, *_ in rows(DOCS / "architecture.md", start)]
    paths = [[ROOT / folder / name.removeprefix(f"{folder}/") for name in names] for names in named]
    assert [str(path) for row in paths for path in row if not path.exists()] == []
    assert [{path.stem for path in row} for row in paths] == [set(re.split(r" [:|] ", layer)) for layer in reversed(layers)]


def test_the_lines_to_search_for_are_logged() -> None:
    lines = [line for words, *_ in rows(DOCS / "operations.md", "Lines to alert on:") for line in re.findall(r"`([^`]+)`", words)]
    assert lines
    lines += [line for page in PAGES for line in re.findall(r'msg="([^"]+)"', text_of(page))]
    assert set(lines) - logged_events() == set()


def logged_events() -> set[str]:
    """The first arguments of the calls that write a line."""
    calls = (
        node
        for package in ("connector", "connect_api", "workers")
        for module in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(text_of(module)))
        if isinstance(node, ast.Call)
    )
    named = ((getattr(call.func, "attr", None) or getattr(call.func, "id", ""), call.args[0] if call.args else None) for call in calls)
    return {text.value for name, text in named if name in LOGGING and isinstance(text, ast.Constant) and isinstance(text.value, str)}


def test_each_version_of_the_changelog_has_each_section_once() -> None:
    """The order is that of Keep a Changelog."""
    order = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
    versions = re.split(r"^## .*$", text_of(ROOT / "CHANGELOG.md"), flags=re.MULTILINE)[1:]
    assert versions
    for version in versions:
        sections = re.findall(r"^### (.+)$", version, re.MULTILINE)
        assert sections == [name for name in order if name in sections]


def test_the_changelog_lists_each_change_once() -> None:
    entries = [part for part in re.split(r"^(?=- |#)", text_of(ROOT / "CHANGELOG.md"), flags=re.MULTILINE) if part.startswith("- ")]
    assert entries
    assert [entry for entry, count in Counter(map(str.strip, entries)).items() if count > 1] == []


if __name__ == "__main__":
    page = DOCS / "architecture.md"
    text = text_of(page)
    for section, table in GENERATED.items():
        found = section.search(text)
        assert found is not None
        text = text.replace(found[0], found[1] + table() + found[2])
    page.write_text(text, encoding="utf-8")
