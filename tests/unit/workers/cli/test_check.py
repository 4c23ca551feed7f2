"""``understudy check`` without a database: files, findings and exit codes."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import pytest

from connect_api.herder import ConfigValue
from connector.preflight.finding import LEAD
from connector.preflight.finding import Finding as Found
from tests.support.memory_worker import memory_worker
from workers.__main__ import main
from workers.cli.check import check, report
from workers.cli.config_file import read_config
from workers.cli.findings import Finding, divided, finding, of_values
from workers.cli.output import Output
from workers.settings.worker_settings import WorkerSettings

CONFIG = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "shop",
    "topic.prefix": "shop",
}
REFUSED = Found("slot.name", f"{LEAD}Replication slot s is physical. Set slot.name to another name.", warning=False, reference=True)
CERTAIN = Found("publication.name", "Publication p does not exist. CREATE PUBLICATION p;", warning=False)
WARNED = Found("table.include.list", "No table matches; correct the list")


def looking(*found: Found) -> object:
    async def look(_config: Mapping[str, str], /, *, further: bool) -> Sequence[Found]:
        return [one for one in found if further or one.reference]

    return look


async def checked(config: Mapping[str, str | None], *found: Found, **worker: str) -> list[Finding]:
    return await check(WorkerSettings.from_properties(worker), "shop", config, looking(*found))  # type: ignore[arg-type]


async def test_what_the_database_says_is_divided_into_finding_and_remedy() -> None:
    assert await checked(CONFIG, REFUSED, WARNED) == [
        Finding("slot.name", "error", "Replication slot s is physical.", "Set slot.name to another name."),
        Finding("table.include.list", "warning", "No table matches.", "Correct the list."),
    ]


@pytest.mark.parametrize("option", [["--preflight", "refuse"], ["--worker", __file__]])
def test_the_worker_at_a_url_has_its_own_settings(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "-", "--url", "http://127.0.0.1:1", *option]) == 2
    assert "Omit --worker and --preflight, or --url." in capsys.readouterr().err


async def test_preflight_decides_about_what_would_certainly_fail() -> None:
    assert [one.severity for one in await checked(CONFIG, CERTAIN)] == ["warning"]
    assert [one.severity for one in await checked(CONFIG, CERTAIN, preflight="refuse")] == ["error"]
    assert await checked(CONFIG, CERTAIN, preflight="off") == []


async def test_an_unknown_class_is_a_finding() -> None:
    [found] = await checked({**CONFIG, "connector.class": "com.example.Other"})
    assert (found.property, found.severity) == ("connector.class", "error")
    assert found.what == "Failed to find any class that implements Connector and which name matches com.example.Other."
    assert "PostgresConnector" in found.remedy
    [missing] = await checked({"topic.prefix": "x"})
    assert missing.property == "connector.class"


async def test_a_missing_property_has_a_remedy() -> None:
    config = {key: value for key, value in CONFIG.items() if key != "topic.prefix"}
    found = {one.property: one for one in await checked(config)}
    assert found["topic.prefix"].severity == "error"
    assert found["topic.prefix"].remedy


def test_a_choice_is_named_in_the_remedy() -> None:
    [found] = of_values([ConfigValue("snapshot.mode", "x", ["always", "never"], ["The value is invalid"], True, [])])
    assert found == Finding("snapshot.mode", "error", "The value is invalid", "Set snapshot.mode to one of always, never.")
    assert finding("a", "Wrong", "warning").remedy == "Correct a (`understudy docs config` describes it)."


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two. Three.", ("One.", "Two. Three.")),
        ("One; do this", ("One.", "Do this.")),
        ("a; b; do this", ("a; b.", "Do this.")),
        ("Debezium 3.6.3 is meant", ("Debezium 3.6.3 is meant", "")),
        ("Slot 's'. Drop it.", ("Slot 's'.", "Drop it.")),
    ],
)
def test_a_text_is_divided(text: str, parts: tuple[str, str]) -> None:
    assert divided(text) == parts


FORMS = {
    "post.json": json.dumps({"name": "orders", "config": CONFIG}),
    "put.json": json.dumps({**CONFIG, "name": "orders"}),
    "orders.json": json.dumps(CONFIG),
    "orders.properties": "".join(f"{name}={value}\n" for name, value in CONFIG.items()),
    "orders": "".join(f"{name}={value}\n" for name, value in CONFIG.items()),
}


@pytest.mark.parametrize("file", FORMS)
def test_all_forms_of_a_file_are_one_configuration(file: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(FORMS[file])
    assert read_config(str(tmp_path / file)) == ("orders", {**CONFIG, "name": "orders"})
    name, config = read_config(str(tmp_path / file), "other")
    assert (name, config["name"]) == ("other", "other")


def test_values_are_texts_as_in_rest(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{"tasks.max": 1, "tombstones.on.delete": true, "slot.name": null}')
    assert read_config(str(file))[1] == {"tasks.max": "1", "tombstones.on.delete": "true", "slot.name": None, "name": "c"}


@pytest.mark.parametrize("content", ["", "{", '{"a": {}}', '{"name": "a", "config": {"name": "b"}}', '{"name": "a", "config": {}, "x": 1}'])
def test_another_file_is_a_wrong_call(content: str, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(content)
    with pytest.raises(click.UsageError, match=r"c\.json"):
        read_config(str(file))
    assert main(["check", str(file)]) == 2
    assert main(["check", str(tmp_path / "none.json")]) == 2


def test_a_worker_is_asked_with_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shop.json"
    with memory_worker() as (url, _):
        file.write_text(json.dumps(CONFIG))
        assert main(["check", str(file), "--url", url]) == 0
        assert json.loads(capsys.readouterr().out) == {"name": "shop", "accepted": True, "findings": []}
        file.write_text(json.dumps({**CONFIG, "snapshot.mode": "nonsense"}))
        assert main(["check", str(file), "--url", url]) == 1
    [found] = json.loads(capsys.readouterr().out)["findings"]
    assert (found["property"], found["severity"]) == ("snapshot.mode", "error")
    assert found["remedy"].startswith("Set snapshot.mode to one of always, ")


def test_people_read_a_verdict() -> None:
    stream = io.StringIO()
    report(Output("text", stream), "shop", [Finding("slot.name", "error", "It is physical.", "Drop it.")])
    assert stream.getvalue() == "error    slot.name\n  It is physical.\n  → Drop it.\nshop would be refused: 1 error, 0 warnings.\n"
