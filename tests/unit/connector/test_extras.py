"""The commands that messages name, against pyproject.toml; no text names the distribution as PyPI's."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from connector import extras
from connector.configdef.options import OptionError
from connector.errors import CdcError, ErrorKind
from connector.extras import install_command
from connector.transforms.scripting.engine import engine_of

ROOT = Path(__file__).parents[3]
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", ["spark", "registry", "aws", "notebook", "javascript", "openlineage", "otel"])
def test_the_command_has_the_pins_of_the_extra(extra: str) -> None:
    assert shlex.split(install_command(extra)) == [sys.executable, "-m", "pip", "install", *EXTRAS[extra]]


def test_an_extra_within_an_extra_is_its_packages() -> None:
    own = [package for package in EXTRAS["quickstart"] if package != "understudy[spark]"]
    assert shlex.split(install_command("quickstart"))[4:] == [*own, *EXTRAS["spark"]]


def test_the_metadata_may_have_single_quotes_and_other_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = ["click==8", "boto3==1; extra == 'aws'", "x[a]==2 ; (python_version < '4') and extra == 'aws'", "boto==1; extra == 'aws2'"]
    monkeypatch.setattr(extras, "requires", lambda _: entries)
    assert shlex.split(install_command("aws"))[4:] == ["boto3==1", "x[a]==2"]


def test_an_environment_without_pip_needs_another_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    assert shlex.split(install_command("aws")) == ["pip", "--python", sys.executable, "install", *EXTRAS["aws"]]


def test_no_full_stop_follows_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py_mini_racer", None)
    with pytest.raises(OptionError) as refused:
        engine_of("jsr223.graal.js", "true")
    assert f"`{install_command('javascript')}`." in str(CdcError(ErrorKind.CONFIG_INVALID, str(refused.value)))


def test_source_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> list[str]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "requires", missing)
    assert shlex.split(install_command("aws"))[4:] == [".[aws]"]


def test_nobody_is_sent_to_the_project_of_that_name_on_pypi() -> None:
    files = [path for folder in ("connector", "workers", "connect_api") for path in (ROOT / folder).rglob("*.py")]
    files += [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    by_name = re.compile(r"understudy\[[a-z,]+\](?! @ file:)|pip install ['\"]?understudy\b(?!\[[a-z,]+\] @ file:)")
    found = [f"{path.relative_to(ROOT)}: {hit[0]}" for path in files for hit in by_name.finditer(path.read_text(encoding="utf-8"))]
    assert found == []
