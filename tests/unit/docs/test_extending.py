"""The converter that ``docs/extending.md`` shows works as the page says."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connector import spi
from connector.config.connector_config import ConnectorConfig, parse
from connector.converters.converter import ConverterChoice
from connector.delivery.record_conversion import ConversionPlan, RecordConversion
from connector.errors import CdcError
from connector.events import column_converter
from connector.plugins.allowed import AllowedPlugins
from connector.types.codec import Column
from tests.support.project import DOCS
from tests.support.stream_rig import INT4, TYPES, StreamRig, catalog_table, relation_of
from tests.support.wal_script import WalScript

PAGE = (DOCS / "extending.md").read_text(encoding="utf-8")
BASE = {
    "name": "c",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "nowhere",
    "database.user": "nobody",
    "database.dbname": "shop",
    "topic.prefix": "srv",
}


def block(language: str, number: int = 0) -> str:
    return str(re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[number])


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConnectorConfig]:
    (tmp_path / "cents.py").write_text(block("python"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield parse({**BASE, **json.loads(block("json"))})[0]
    sys.modules.pop("cents", None)


def test_the_example_converts_values_defaults_and_nulls(example: ConnectorConfig) -> None:
    money = (10 << 16) + 2 + 4
    table = catalog_table(
        "orders",
        Column("id", INT4, not_null=True),
        Column("total", 1700, money, not_null=True),
        Column("tax", 1700, money, default="0.50"),
        Column("weight", 1700),
        primary_key=["id"],
    )
    rig, wal, relation = StreamRig(table, config=example, types=dict(TYPES)), WalScript(), relation_of(table)
    wal.begin()
    wal.relation(relation)
    wal.insert(relation, "1", "12.50", "2.38", "1")
    wal.insert(relation, "2", "-0.01", None, None)
    wal.delete(relation, key=["1", None, None, None])
    first, second, delete, _tombstone = (sent.payload for sent in rig.feed(wal.take()))
    assert first["after"] == {"id": 1, "total": 1250, "tax": 238, "weight": {"scale": 0, "value": "AQ=="}}
    assert second["after"] == {"id": 2, "total": -1, "tax": 50, "weight": None}
    assert delete["before"] == {"id": 1, "total": None, "tax": 50, "weight": None}
    encoder = rig.capture.encoder(table)
    assert encoder.row([b"1", b"12.50", b"2.38", None]) == b'{"id":1,"total":1250,"tax":238,"weight":null}'
    assert rig.failures.reported == []


def test_the_page_names_what_the_module_has() -> None:
    [imported] = [node for node in ast.walk(ast.parse(block("python"))) if isinstance(node, ast.ImportFrom) and node.module == spi.__name__]
    public = {
        name for name, value in vars(column_converter).items() if isinstance(value, type) and value.__module__ == column_converter.__name__
    }
    assert {alias.name for alias in imported.names} == {name for name in public if not name.startswith("_")} | {"Schema"}
    assert {alias.name for alias in imported.names} <= set(spi.__all__)
    fields: Any = column_converter.ConvertibleColumn.__dataclass_fields__
    assert [name for name in fields if f"`{name}`" not in PAGE and f"column.{name}" not in PAGE and name not in ("name", "base_type")] == []


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConversionPlan]:
    """The transform and the converter of the page, as a connector would have them."""
    for number, module in ((1, "domains"), (2, "csv_values")):
        (tmp_path / f"{module}.py").write_text(block("python", number), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    config = json.loads(block("json", 1))
    value = ConverterChoice(json.loads(block("json", 2))["value.converter"])
    simple = ConverterChoice("org.apache.kafka.connect.storage.SimpleHeaderConverter")
    key = ConverterChoice("org.apache.kafka.connect.storage.StringConverter")
    yield ConversionPlan(config, key, value, simple, plugins=AllowedPlugins(frozenset({"domains", "csv_values"})))
    for module in ("domains", "csv_values"):
        sys.modules.pop(module, None)


def test_the_transform_and_the_converter_do_what_the_page_says(shown: ConversionPlan) -> None:
    conversion = RecordConversion(shown, lambda _event, /, **_fields: None)
    row = spi.Schema("struct", fields=(spi.Field("id", spi.INT32), spi.Field("email", spi.STRING)))
    schema = spi.Schema("struct", fields=(spi.Field("after", row),))
    record = spi.ConnectRecord("t", None, None, schema, {"after": {"id": 1, "email": "a@example.org"}})
    found = conversion.transform(record)
    assert found is not None
    assert found.value == {"after": {"id": 1, "email": "example.org"}}
    assert record.value["after"]["email"] == "a@example.org"
    written = conversion.convert(replace(found, value_schema=row, value=found.value["after"]))
    assert written is not None
    assert written.payload == b"1,example.org"
    with pytest.raises(CdcError, match=r"Transform domain .* field email does not exist"):
        conversion.transform(replace(record, value={"after": {"id": 1}}))
