from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from support.probe_converters import Probe

from connector.column_converter import ColumnConverter
from connector.errors import CdcError, ErrorKind
from connector.spi import load


def loaded(name: str) -> ColumnConverter:
    return load("converters", name, ColumnConverter, setting="geo.type")  # type: ignore[type-abstract]


def refusal(name: str) -> str:
    with pytest.raises(CdcError) as caught:
        loaded(name)
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
    assert "geo.type" in caught.value.message
    assert "docs/extending.md" in caught.value.remedy
    return str(caught.value)


def test_a_class_by_its_path() -> None:
    first, second = loaded("support.probe_converters:Probe"), loaded("support.probe_converters:Probe")
    assert type(first) is Probe
    assert first is not second


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_package.geo:Geo", "Module no_such_package.geo, which property geo.type names, cannot be imported"),
        ("support.probe_converters:Geo", "Module support.probe_converters has no class Geo"),
        ("support.probe_converters:", "Module support.probe_converters has no class "),
        (":Geo", "Module , which property geo.type names, cannot be imported"),
        ("support.probe_converters:Demanding", "is no class that derives from connector.column_converter.ColumnConverter"),
        ("support.probe_converters:re", "is no class that derives from"),
        ("support.probe_converters:Unmade", "No Unmade can be made, which property geo.type names: its constructor failed"),
        ("geo", "There is no entry point geo in the group understudy.converters, which property geo.type names; installed: none"),
    ],
)
def test_what_cannot_be_loaded_says_why(name: str, message: str) -> None:
    assert message in refusal(name)


def test_a_module_that_breaks_is_told_with_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "geo_that_breaks.py").write_text("raise RuntimeError('no maps')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert refusal("geo_that_breaks:Geo").endswith("(RuntimeError: no maps)")
    assert "geo_that_breaks" not in sys.modules


def test_a_class_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    group = "understudy.converters"
    points = EntryPoints(
        [
            EntryPoint("probe", "support.probe_converters:Probe", group),
            EntryPoint("lost", "support.probe_converters:Lost", group),
        ]
    )
    monkeypatch.setattr("connector.spi.entry_points", lambda group: points.select(group=group))
    assert type(loaded("probe")) is Probe
    assert "Entry point lost of the group understudy.converters" in refusal("lost")
    assert "installed: lost, probe" in refusal("geo")
