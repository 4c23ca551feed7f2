"""requirements.txt is what the image installs: it agrees with pyproject.toml, and every file in it has a hash."""

from __future__ import annotations

import re
import tomllib
from typing import Final

import pytest
import yaml

from tests.support.project import ROOT

LOCK: Final = (ROOT / "requirements.txt").read_text(encoding="utf-8")
_ENTRY: Final = re.compile(
    r"^([a-z0-9-]+)==([0-9][0-9a-z.]*)(?: ; ([^\\\n]+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)
_PIN: Final = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[a-z,]+\])?==([^\s;]+)")


def pins() -> dict[str, str]:
    """Versions that pyproject.toml asks of the image, by normalized name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {}
    for requirement in [*project["dependencies"], *project["optional-dependencies"]["image"]]:
        pin = _PIN.match(requirement)
        assert pin is not None, f"{requirement} has no exact version"
        found[re.sub(r"[-_.]+", "-", pin[1]).lower()] = pin[2]
    return found


def locked() -> dict[str, str]:
    return {entry[1]: entry[2] for entry in _ENTRY.finditer(LOCK)}


def test_it_holds_what_pyproject_pins() -> None:
    found = locked()
    assert {name: found.get(name) for name in pins()} == pins(), "run: make lock"


def test_every_line_is_a_package_with_hashes() -> None:
    rest = _ENTRY.sub("", LOCK)
    assert [line for line in rest.splitlines() if not line.startswith("#")] == []
    assert len(locked()) > len(pins())


def test_it_names_no_place() -> None:
    for line in LOCK.splitlines():
        if not line.startswith("    --hash="):
            assert not re.search(r"://|/|index|find-links|trusted", line), line


def test_the_image_installs_nothing_else() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    installs = [line for line in text.splitlines() if re.search(r"\b(pip|apt|apt-get|curl|wget) ", line) and line.startswith("RUN")]
    assert installs == [
        "RUN pip install --no-cache-dir --require-hashes -r requirements.txt",
        "RUN pip install --no-cache-dir --no-deps --no-build-isolation .",
    ]
    assert re.search(r"^ARG BASE=python:3\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}\nFROM \$\{BASE\}$", text, re.MULTILINE)


def test_the_image_s_context_holds_what_it_copies() -> None:
    sent = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")}
    copied = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for line in copied for name in line.split()} == sent
    assert all((ROOT / name).exists() for name in sent)


@pytest.mark.parametrize("name", ["postgres", "kafka", "understudy"])
def test_compose_describes_the_services(name: str) -> None:
    service = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"][name]
    assert ("image" in service) != ("build" in service)
    assert all(isinstance(value, str) for value in service["environment"].values())
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
