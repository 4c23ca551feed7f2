from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, EntryPoint, EntryPoints
from pathlib import Path

import pytest

from connector.errors import CdcError, ErrorKind
from connector.events.column_converter import ColumnConverter
from connector.plugins.allowed import NO_PLUGINS, AllowedPlugins
from connector.plugins.loading import load
from tests.support.each_case import each_case
from tests.support.probe_converters import Probe

GROUP = "understudy.converters"
HOSTILE = """
import asyncio
import os
from os import system
from subprocess import Popen

from connector.events.column_converter import ColumnConverter


class Outer:
    class Geo(ColumnConverter):
        def converter_for(self, column):
            return None


class _Hidden(Outer.Geo):
    pass


def Maker():
    return Outer.Geo()


instance = Outer.Geo()
"""


def loaded(name: str, allowed: str = "tests, geo_lib") -> ColumnConverter:
    plugins = AllowedPlugins.parse(allowed)
    return load("converters", name, ColumnConverter, setting="geo.type", allowed=plugins)  # type: ignore[type-abstract]


def refusal(name: str, allowed: str = "tests, geo_lib") -> CdcError:
    with pytest.raises(CdcError) as caught:
        loaded(name, allowed)
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
    assert "geo.type" in caught.value.message
    assert "`understudy docs extending`" in caught.value.remedy
    return caught.value


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Writes the module ``geo_lib.mod``; it is forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "geo_lib").mkdir()
    (tmp_path / "geo_lib" / "__init__.py").touch()

    def write(text: str) -> None:
        (tmp_path / "geo_lib" / "mod.py").write_text(text, encoding="utf-8")

    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "geo_lib"]:
        del sys.modules[name]


def test_a_class_by_its_path() -> None:
    first, second = loaded("tests.support.probe_converters:Probe"), loaded("tests.support.probe_converters:Probe")
    assert type(first) is Probe
    assert first is not second


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("geo_lib.no_such:Geo", "Module geo_lib.no_such, which property geo.type names, cannot be imported"),
        ("tests.support.probe_converters:Geo", "Module tests.support.probe_converters has no class Geo"),
        ("tests.support.probe_converters:", "Module tests.support.probe_converters has no class "),
        ("tests.support.probe_converters:Demanding", "does not derive from connector.events.column_converter.ColumnConverter"),
        ("tests.support.probe_converters:re", "has no class re of its own"),
        ("tests.support.probe_converters:Unmade", "No Unmade can be made, which property geo.type names: its constructor failed"),
        ("geo", f"There is no entry point in the group {GROUP} of the name that property geo.type gives; installed: none"),
    ],
)
def test_load_failures_report_the_reason(name: str, message: str) -> None:
    assert message in str(refusal(name))


@pytest.mark.parametrize(
    "name",
    [
        "unittest.__main__:x",
        "antigravity:x",
        "os:system",
        "subprocess:Popen",
        "__main__:x",
        "tests.support.__main__:x",
        ":Geo",
        ".:Geo",
        "tests.support..probe_converters:Probe",
        ".tests.support:Probe",
        "tests.support.:Probe",
        "tests.supports:Probe",
        "tests.suppor:Probe",
        "tests.support/probe_converters:Probe",
        "tests.support probe:Probe",
        "Tests.support.probe_converters:Probe",
        "builtins:object",
        "connector.events.column_converter:ColumnConverter",
        "workers.__main__:main",
    ],
)
def test_a_module_that_is_not_allowed_is_not_imported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connector.plugins.loading.importlib.import_module", lambda module: pytest.fail(f"imported {module}"))
    for allowed in ("tests.support", "tests.support.probe_converters.more, x"):
        error = refusal(name, allowed)
        assert "plugin.packages" in error.message
        assert "plugin.packages" in error.remedy
        # It may be the secret of a reference.
        assert name not in str(error)


def test_nothing_is_allowed_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connector.plugins.loading.importlib.import_module", lambda module: pytest.fail(f"imported {module}"))
    for text in ("", " , "):
        assert AllowedPlugins.parse(text) == NO_PLUGINS
        assert "is not allowed" in refusal("tests.support.probe_converters:Probe", text).message


@each_case("text", ["a..b", ".a", "a.", "*", "a/b", "a:B", "a b", "a,-", "a;b", "a\nb"])
def test_a_list_that_holds_no_names_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a package"):
        AllowedPlugins.parse(text)


def test_a_dotted_package_allows_itself_and_what_is_below() -> None:
    allowed = AllowedPlugins.parse("acme.cdc")
    assert [name for name in ("acme", "acme.cdc", "acme.cdc.geo", "acme.cdcs", "acme.other", "cdc") if allowed.module(name)] == [
        "acme.cdc",
        "acme.cdc.geo",
    ]


def test_only_public_classes_that_an_allowed_package_defines(module: Callable[[str], None]) -> None:
    module(HOSTILE)
    assert type(loaded("geo_lib.mod:Outer.Geo")).__qualname__ == "Outer.Geo"
    for attribute in (
        "os.system",
        "system",
        "Popen",
        "asyncio.Event",
        "ColumnConverter",
        "_Hidden",
        "__class__",
        "Outer.__init__",
        "Outer.__subclasses__",
        "Outer.Geo.__base__",
        "Outer.Geo.configure",
        "Outer.",
        "Maker",
        "instance",
    ):
        assert "has no class" in refusal(f"geo_lib.mod:{attribute}").message
    assert "has no class" in refusal("geo_lib.mod:Outer.Geo.converter_for.__globals__").message


RAISES = ["SystemExit(3)", "KeyboardInterrupt()", "GeneratorExit()", "asyncio.CancelledError()", "RuntimeError('no maps')", "MemoryError()"]
RECURSION = "def again(): again()\n"


@pytest.mark.parametrize("what", RAISES)
async def test_any_exception_of_a_module_or_a_class_is_one_sentence(module: Callable[[str], None], what: str) -> None:
    # As in a worker, whose loop handles SIGINT itself.
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, print)
    try:
        named = what.partition("(")[0].rpartition(".")[2]
        module(f"import asyncio\nraise {what}\n")
        assert named in refusal("geo_lib.mod:Geo").detail
        assert "geo_lib.mod" not in sys.modules
        module(f"import asyncio\nclass Geo:\n    def __init__(self): raise {what}\n")
        base: type[object] = object
        with pytest.raises(CdcError, match="its constructor failed") as caught:
            load("converters", "geo_lib.mod:Geo", base, setting="geo.type", allowed=AllowedPlugins.parse("geo_lib"))
        assert named in caught.value.detail
        del sys.modules["geo_lib.mod"]
        module(f"import asyncio\ndef __getattr__(name): raise {what}\n")
        assert "has no class" in refusal("geo_lib.mod:Geo").message
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)


def test_the_operator_s_interrupt_is_not_caught(module: Callable[[str], None]) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    module("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    with pytest.raises(KeyboardInterrupt):
        loaded("geo_lib.mod:Geo")


def test_an_exception_that_cannot_be_printed(module: Callable[[str], None]) -> None:
    module("class Odd(Exception):\n    def __str__(self): raise SystemExit\nraise Odd\n")
    assert refusal("geo_lib.mod:Geo").detail == "Odd"


def test_endless_recursion_while_it_is_imported(module: Callable[[str], None]) -> None:
    module(f"{RECURSION}again()\n")
    assert "RecursionError" in refusal("geo_lib.mod:Geo").detail


class Installed(Distribution):
    """A distribution with one entry point."""

    def read_text(self, filename: str) -> str | None:
        return "Metadata-Version: 2.1\nName: Acme.CDC_geo\nVersion: 1\n" if filename in ("METADATA", "PKG-INFO") else None

    def locate_file(self, path: object) -> Path:
        return Path(str(path))


def test_a_class_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = EntryPoint("packed", "tests.support.probe_converters:Probe", GROUP)
    vars(packed)["dist"] = Installed()
    points = EntryPoints(
        [
            EntryPoint("probe", "tests.support.probe_converters:Probe", GROUP),
            EntryPoint("lost", "tests.support.probe_converters:Lost", GROUP),
            packed,
        ]
    )
    monkeypatch.setattr("connector.plugins.loading.entry_points", lambda group: points.select(group=group))
    assert type(loaded("probe", "probe")) is Probe
    assert "Entry point lost of the group understudy.converters" in refusal("lost", "lost").message
    assert "installed: lost, packed, probe" in refusal("geo").message
    for allowed in ("", "tests.support", "lost", "tests.support.probe_converters"):
        assert "Entry point probe, which property geo.type names, is not allowed" in refusal("probe", allowed).message
    for allowed in ("packed", "acme-cdc-geo", "Acme.CDC_geo", "ACME_cdc.GEO"):
        assert type(loaded("packed", allowed)) is Probe
    for allowed in ("acme", "Acme.CDC", "tests.support", "acme-cdc-geo-more"):
        message = refusal("packed", allowed).message
        assert "Entry point packed of the distribution Acme.CDC_geo, which property geo.type names, is not allowed" in message
        assert "plugin.packages" in message
