"""The emulated versions: one value each, whose every attribute the code asks for by name."""

from __future__ import annotations

import pickle
import re
from dataclasses import fields
from pathlib import Path

import pytest

import connector
from connector.config.keys import VERSIONS, select_version
from connector.emulation import DEFAULT, EMULATIONS, Emulation, emulation_of
from tests.support.each_case import each_case

ROOT = Path(connector.__file__).parents[1]
MODULES = [
    path
    for package in ("connector", "workers", "connect_api")
    for path in (ROOT / package).rglob("*.py")
    if path != ROOT / "connector" / "emulation.py"
]


@each_case("name", [field.name for field in fields(Emulation)])
def test_the_code_asks_for_each_attribute(name: str) -> None:
    assert any(f".{name}" in path.read_text() for path in MODULES)


def test_no_other_module_compares_versions() -> None:
    compares = re.compile(r"version (<|<=|>|>=|==|!=) [(\"']\d|\((2, 3, 4|3, \d, \d)\)")
    assert [path for path in MODULES if compares.search(path.read_text())] == []


def test_versions_can_be_chosen() -> None:
    assert tuple(emulation.version for emulation in EMULATIONS) == VERSIONS
    assert [emulation_of(select_version(version)) for version in VERSIONS] == list(EMULATIONS)
    assert emulation_of(select_version(None)) is DEFAULT


@pytest.mark.parametrize("emulation", EMULATIONS, ids=lambda emulation: emulation.version)
def test_a_process_that_reads_a_snapshot_gets_the_same(emulation: Emulation) -> None:
    assert pickle.loads(pickle.dumps(emulation)) == emulation


def test_an_unknown_version() -> None:
    with pytest.raises(KeyError):
        emulation_of("2.3.4")
