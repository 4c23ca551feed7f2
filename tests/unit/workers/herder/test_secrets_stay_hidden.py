"""The value of a reference is in no answer, no state and no log line, for any property and any form."""

from __future__ import annotations

import io
import json
import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from connect_api.herder import HerderError
from connect_api.models import config_infos
from connector.config.connector_config import parse
from connector.config.keys import KEYS
from connector.config.redacted_validation import of_others, of_reference
from connector.config.validation import Validation, validate
from connector.errors import CdcError, ErrorKind
from connector.preflight.finding import Finding
from tests.support.herder_bench import CLASS, Bench, worker
from workers.herder.configuration_check import ConfigurationCheck
from workers.settings.config_providers import Found
from workers.settings.redaction import Hidden
from workers.telemetry.logging import configure

PROVIDERS = {"config.providers": "file", "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider"}
WHOLE = {
    "name": "shop",
    "connector.class": CLASS,
    "tasks.max": "1",
    "database.hostname": "127.0.0.1",
    "database.user": "shop",
    "database.password": "pass",
    "database.dbname": "shop",
    "topic.prefix": "shop",
}
FORMS = {
    "plain": "zq7marker",
    "list": "zq7marker,zq7markerb , c",
    "padded": "  zq7marker  ",
    "upper": "ZQ7MARKER",
    "quoted": "\"zq7marker\" 'x'",
    "regex": "zq7marker\\.([a-z]+)+[",
    "number": "0090217734",
    "lines": "root\nzq7marker:x:0\nzq7markerc",
    "pairs": "a=zq7marker;zq7marker:b",
    "class": "zq7marker.Zq7Marker",
    "json": '{"zq7marker": ["zq7marker',
    "long": "zq7marker" * 12,
}
MARKS = ("zq7marker", "90217734")
DECIDING = (
    "connector.plugin.version",
    "transforms",
    "transforms.a.type",
    "predicates",
    "key.converter",
    "tasks.max",
    "converters",
    "database.hostname",
    "snapshot.mode",
    "max.queue.size",
)
NAMED = (
    "transforms.a.type",
    "transforms.a.plugin.version",
    "transforms.a.negate",
    "predicates.b.type",
    "producer.override.acks",
    "producer.override.sasl.jaas.config",
    "producer.override.ssl.truststore.location",
    "producer.override.no.such.setting",
    "admin.override.security.protocol",
    "signal.consumer.interceptor.classes",
    "topic.creation.default.partitions",
    "key.converter.schemas.enable",
    "value.converter.decimal.format",
    "column.mask.with.zzz.chars",
    "column.truncate.to.5.chars",
    "message.key.columns",
    "snapshot.select.statement.overrides.public.t",
    "driver.options",
    "database.whatever",
    "c.type",
    "no.such.property",
)


def quoted(settings: Mapping[str, str]) -> str:
    """Every value, as servers and libraries quote them."""
    forms: list[str] = []
    for value in settings.values():
        forms += [value, value.strip(), value.lower(), value.upper(), repr(value), value.replace('"', '""'), value[:63]]
        forms += [*value.split(","), *value.split(), f'user "{value}"', f"x.{value}.y", value.strip().lstrip("0")]
    return " ".join(forms)


async def look(settings: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
    logging.getLogger("connector.io").debug("looking %s", quoted(settings))
    return [Finding("slot.name", quoted(settings)), Finding("database.hostname", quoted(settings), warning=False, reference=True)]


async def no_findings(settings: Mapping[str, str], *, further: bool) -> Sequence[Finding]:
    return []


class HonestBench:
    """The real check, and tasks that read their configuration and then fail with all of it in their words."""

    look = staticmethod(look)

    @classmethod
    def into(cls, monkeypatch: pytest.MonkeyPatch) -> None:
        async def check(_: Bench, name: str, config: Mapping[str, str | None]) -> Validation:
            return await ConfigurationCheck(cls.look)(name, config)

        async def run(_: Bench, context: object, stop: object) -> None:
            config: Mapping[str, str] = context.config  # type: ignore[attr-defined]
            logging.getLogger("connector.runner").debug("with %s", quoted(config), extra={"fields": {"topic": quoted(config)}})
            parse(config)
            raise CdcError(ErrorKind.SOURCE_QUERY, quoted(config), quoted(config), quoted(config)) from ValueError(quoted(config))

        monkeypatch.setattr(Bench, "validate", check)
        monkeypatch.setattr(Bench, "run_task", run)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure("DEBUG", stream)
    yield stream
    root.handlers[:] = before
    root.setLevel(level)


def unseen(text: str, where: str) -> None:
    found = [mark for mark in MARKS if mark in text.casefold()]
    assert not found, f"{found} in {where}: {text[max(0, text.casefold().index(found[0]) - 200) :][:400]}"


ALL_NAMES = [key.name for key in KEYS if "(" not in key.name and key.name not in ("name", "connector.class")] + list(NAMED)
"""REST compares a connector's name and class as they are written. They have separate tests."""
CASES = [
    # Every property in one of the forms, and those that decide about others in each.
    *((name, list(FORMS)[number % len(FORMS)]) for number, name in enumerate(ALL_NAMES)),
    *((name, form) for name in DECIDING for form in FORMS),
]


@pytest.fixture
def references(tmp_path: Path) -> dict[str, str]:
    """A reference to each form."""
    lines = []
    for form, value in FORMS.items():
        escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("  zq", "\\  zq")
        lines.append(f"{form}={escaped}")
    (tmp_path / "f").write_text("\n".join(lines))
    return {form: f"${{file:{tmp_path}/f:{form}}}" for form in FORMS}


async def test_a_marker_in_any_property_is_in_no_answer(
    log: io.StringIO, monkeypatch: pytest.MonkeyPatch, references: dict[str, str]
) -> None:
    HonestBench.into(monkeypatch)
    assert len(ALL_NAMES) > 200
    async with worker(properties=PROVIDERS) as bench:
        for name, form in CASES:
            config: dict[str, str | None] = {**WHOLE, "transforms": "a", "converters": "c", name: references[form], "n": None}
            infos = config_infos(await bench.herder.validate_config("PostgresConnector", config), warnings=True)
            unseen(json.dumps(infos, ensure_ascii=False), f"validate of {name} as {form}")
            # Creating and changing go through the same check and answer with the same lines.
            assert any(reported["value"]["errors"] for reported in infos["configs"])  # type: ignore[attr-defined]
    unseen(log.getvalue(), "the log")
    assert "level=debug" in log.getvalue()


async def test_a_marker_in_any_property_is_in_no_state(
    log: io.StringIO, monkeypatch: pytest.MonkeyPatch, references: dict[str, str]
) -> None:
    HonestBench.into(monkeypatch)
    monkeypatch.setattr(HonestBench, "look", staticmethod(no_findings))
    async with worker(properties=PROVIDERS) as bench:
        started = 0
        for name, form in CASES:
            try:
                await bench.herder.put_connector("shop", {**WHOLE, name: references[form]}, allow_replace=True)
            except HerderError as refused:
                unseen(refused.message, f"PUT of {name} as {form}")
                continue
            await bench.settled()
            started += 1
            unseen(str(bench.herder.connector_status("shop")), f"status with {name} as {form}")
            unseen(str(bench.herder.connector_info("shop")), f"info with {name} as {form}")
    assert started > 100
    unseen(log.getvalue(), "the log")


async def test_a_status_has_a_trace_and_the_reference_in_it(monkeypatch: pytest.MonkeyPatch, references: dict[str, str]) -> None:
    HonestBench.into(monkeypatch)
    monkeypatch.setattr(HonestBench, "look", staticmethod(no_findings))
    async with worker(properties=PROVIDERS) as bench:
        await bench.create({**WHOLE, "database.user": references["plain"]})
        trace = bench.herder.connector_status("shop").tasks[0].trace or ""
    assert references["plain"] in trace
    assert "127.0.0.1" in trace
    unseen(trace, "trace")


async def checked(
    monkeypatch: pytest.MonkeyPatch, values: Mapping[str, str], **config: str | None
) -> dict[str, tuple[object, tuple[str, ...]]]:
    """(value, errors) by property, of WHOLE and ``config``; ``${env:NAME}`` stands for ``values[NAME]``."""
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    HonestBench.into(monkeypatch)
    monkeypatch.setattr(HonestBench, "look", staticmethod(no_findings))
    env = {"config.providers": "env", "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider"}
    async with worker(properties=env) as bench:
        infos = await bench.herder.validate_config("PostgresConnector", {**WHOLE, **config})
    return {value.name: (value.value, tuple(value.errors)) for _, value in infos.configs}


async def test_names_are_not_made_from_resolved_values(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = await checked(
        monkeypatch, {"STEP": "zq7marker"}, transforms="a,${env:STEP}", **{"transforms.zq7marker.type": "no.such.Class"}
    )
    assert [name for name in reported if name.startswith("transforms.")] == ["transforms.a.type", "transforms.a.plugin.version"]
    assert reported["transforms"] == ("a,${env:STEP}", (of_reference("transforms"),))


async def test_a_referenced_version_counts_and_a_wrong_one_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    good = await checked(monkeypatch, {"V": " 2.3.4.Final "}, **{"connector.plugin.version": "${env:V}"})
    assert good["connector.plugin.version"] == ("${env:V}", ())
    assert "schema.refresh.mode" in good
    wrong = await checked(monkeypatch, {"V": "root:x:0:0"}, **{"connector.plugin.version": "${env:V}"})
    assert wrong["connector.plugin.version"] == ("${env:V}", (of_reference("connector.plugin.version"),))
    assert wrong["connector.class"][1] == (of_others("connector.class"),)


async def test_a_referenced_converter_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = await checked(monkeypatch, {"C": "JsonConverter"}, **{"key.converter": "${env:C}", "key.converter.schemas.enable": "maybe"})
    assert reported["key.converter"] == ("${env:C}", ())
    assert reported["key.converter.schemas.enable"][1][0].startswith("Invalid value maybe")


async def test_texts_about_other_properties_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = await checked(monkeypatch, {"P": "zq7marker"}, **{"database.password": "${env:P}", "tasks.max": "x", "max.queue.size": "-1"})
    plain = {field.name: field.errors for field in validate({**WHOLE, "tasks.max": "x", "max.queue.size": "-1"}).fields}
    assert {name: errors for name, (_, errors) in reported.items() if errors} == {name: errors for name, errors in plain.items() if errors}
    assert reported["tasks.max"][1][0] == "Invalid value x for configuration tasks.max: Not a number of type INT"


async def test_a_check_of_two_properties_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = await checked(monkeypatch, {"N": "90000"}, **{"max.batch.size": "${env:N}", "max.queue.size": "8192"})
    assert reported["max.batch.size"][1] == ()
    assert reported["max.queue.size"][1] == (of_others("max.queue.size"),)


def test_words_are_hidden_in_linear_time() -> None:
    words = [f"w{random.Random(n).getrandbits(64):x}" for n in range(20_000)]
    hide = Hidden({"ssl.key": (Found("${x:y}", "\n".join(words)),)})
    text = " ".join(words)
    assert set(hide(text).split()) == {"${x:y}"}


def test_short_and_common_words_stay() -> None:
    hide = Hidden({"database.password": (Found("${x:y}", "true"), Found("${x:z}", "a,bc"), Found("${x:p}", "secret pass"))})
    assert hide("it is true of a, bc and PASS: secret  pass") == "it is true of ${x:z}, bc and ${x:p}: ${x:p}  ${x:p}".replace(
        "${x:z}", "a"
    )
