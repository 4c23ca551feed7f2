"""The wheel and the sdist: what they contain, and that the command works where only the wheel is installed."""

from __future__ import annotations

import email
import email.message
import os
import re
import shutil
import subprocess
import sys
import tarfile
import uuid
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest

from tests.fix_worker import Worker, properties_of
from tests.support.project import ROOT

pytestmark = pytest.mark.long

PACKAGES = ("connect_api", "connector", "workers")
SOURCES = ("pyproject.toml", "README.md", "LICENSE")
PAGES = "workers/cli/pages/"
"""A link to docs. Some versions of Python look for files behind it."""
ONLY_HERE = "workers/lab/"
"""Measurements, and what makes pages of the documentation: they serve the repository only."""


def run(*command: str | Path, folder: Path) -> str:
    """The output of a command that must succeed, without the repository among its modules."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run([str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both files, made from a copy of the sources: the sdist, and the wheel from the sdist."""
    copy = tmp_path_factory.mktemp("sources")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    # They would be taken along if setuptools' own defaults decided.
    shutil.copytree(ROOT / "tests" / "unit" / "support", copy / "tests" / "unit" / "support", ignore=shutil.ignore_patterns("__pycache__"))
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-P", "-m", "build", "--outdir", folder, copy, folder=copy)
    return folder


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of a fresh environment with the wheel."""
    place = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", place, folder=place)
    run(place / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *dist.glob("*.whl"), folder=place)
    return place / "bin"


def expected() -> set[str]:
    """Every file of the packages but those of the repository only, and the pages."""
    files = (file.relative_to(ROOT).as_posix() for name in PACKAGES for file in (ROOT / name).rglob("*") if file.is_file())
    pages = {f"workers/cli/pages/{page.relative_to(ROOT / 'docs').as_posix()}" for page in (ROOT / "docs").rglob("*.md")}
    return {file for file in files if "__pycache__" not in file and not file.startswith((ONLY_HERE, PAGES))} | pages


def wheel_of(dist: Path) -> zipfile.ZipFile:
    [file] = dist.glob("*.whl")
    return zipfile.ZipFile(file)


def metadata(dist: Path) -> email.message.Message:
    with wheel_of(dist) as wheel:
        [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(wheel.read(name))


def test_the_wheel_has_every_file_of_the_packages_and_no_other(dist: Path) -> None:
    with wheel_of(dist) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == expected()
    assert {"workers/console/templates/base.html", "workers/console/static/console.css", "connector/py.typed"} <= names


def test_the_sdist_has_them_too_and_no_test(dist: Path) -> None:
    [file] = dist.glob("*.tar.gz")
    with tarfile.open(file) as sdist:
        names = {name.partition("/")[2] for name in (member.name for member in sdist.getmembers() if member.isfile())}
    own = {name for name in names if name.startswith(tuple(f"{package}/" for package in PACKAGES))}
    assert own == expected()
    assert {name for name in names - own if not name.startswith("understudy.egg-info/")} == {*SOURCES, "PKG-INFO", "setup.cfg"}


def test_the_metadata_describe_the_project(dist: Path) -> None:
    found = metadata(dist)
    assert found["Name"] == "understudy"
    assert found["License-Expression"] == "Apache-2.0"
    assert found["License-File"] == "LICENSE"
    assert found["Requires-Python"] == ">=3.11"
    assert found["Description-Content-Type"] == "text/markdown"
    assert str(found.get_payload()).startswith("# Understudy")
    assert {"Programming Language :: Python :: 3.11", "Operating System :: POSIX", "Typing :: Typed"} <= set(
        found.get_all("Classifier", [])
    )
    assert not any(value.startswith("License ::") for value in found.get_all("Classifier", [])), "the expression says it"
    assert found["Keywords"]


def test_the_extras_are_those_of_the_pages(dist: Path) -> None:
    extras = set(metadata(dist).get_all("Provides-Extra", []))
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
    named = {found for page in pages for found in re.findall(r"understudy\[([a-z,]+)\]", page.read_text(encoding="utf-8"))}
    assert {one for each in named for one in each.split(",")} <= extras
    assert {"aws", "spark", "registry", "openlineage", "javascript"} <= extras


def test_the_command_starts(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "understudy", "--version", folder=tmp_path).startswith("understudy ")
    assert "workers.lab" not in run(installed / "python", "-I", "-c", "import workers, sys; print(sys.modules.keys())", folder=tmp_path)
    # Messages of the program name pages this way.
    assert run(installed / "understudy", "docs", "extending", folder=tmp_path) == (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    # It depends on nothing that only the tests install.
    run(installed / "pip", "check", folder=tmp_path)


def test_spark_says_what_it_lacks(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run([installed / "understudy-spark", "--help"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    packages = " ".join(f"{name}==[0-9.]+" for name in ("pyspark", "pyarrow", "pyroaring", "xxhash"))
    advice = rf"error: PySpark is not installed\. Install it: {installed}/python[0-9.]* -m pip install {packages}\n"
    assert re.fullmatch(advice, done.stderr)


@pytest.fixture(scope="module")
def running(installed: Path, kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker of the installed command, in a folder of its own."""
    folder = tmp_path_factory.mktemp("worker")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    program: Sequence[str | Path] = (installed / "understudy",)
    worker = Worker(folder, properties_of(f"installed-{uuid.uuid4().hex[:12]}", kafka_bootstrap), environment, program)
    worker.start()
    yield worker
    worker.close()


def test_the_installed_worker_answers(running: Worker) -> None:
    assert running.rest("GET", "/").json()["version"]
    assert running.rest("GET", "/connectors").json() == []
    assert "PostgresConnector" in running.rest("GET", "/connector-plugins").text
    errors = running.rest("PUT", "/connector-plugins/PostgresConnector/config/validate", {"connector.class": "PostgresConnector"})
    assert errors.status_code == httpx.codes.OK
    assert errors.json()["error_count"] > 0
    assert "# TYPE" in running.rest("GET", "/metrics").text


def test_the_installed_pages_have_their_files(running: Worker) -> None:
    with httpx.Client(base_url=running.url, follow_redirects=True) as browser:
        for path in ("/ui", "/docs"):
            page = browser.get(path)
            assert page.status_code == httpx.codes.OK, path
            files = [name for name in re.findall(r'(?:src|href)="([^"#]+\.(?:css|js|svg|png))"', page.text) if "://" not in name]
            assert files, page.text
            for name in files:
                file = browser.get(str(page.url.join(name)))
                assert file.status_code == httpx.codes.OK, name
                assert file.content, name
        assert browser.get("/openapi.json").json()["paths"]
