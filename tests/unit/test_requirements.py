"""requirements.txt and requirements-spark.txt are what the images install: they agree with pyproject.toml, with a hash for each file."""

from __future__ import annotations

import re
import tomllib
from typing import Final

import pytest
import yaml

from tests.support.project import ROOT

LOCKS: Final = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("requirements.txt", "requirements-spark.txt")}
EXTRAS: Final = {"requirements.txt": ["image"], "requirements-spark.txt": ["image", "spark"]}
DOCKERFILE: Final = (ROOT / "Dockerfile").read_text(encoding="utf-8")
_ENTRY: Final = re.compile(
    r"^([a-z0-9-]+)==([0-9][0-9a-z.]*)(?: ; ([^\\\n]+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)
_PIN: Final = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[a-z,]+\])?==([^\s;]+)")


def pins(lock: str) -> dict[str, str]:
    """Versions that pyproject.toml asks of the image, by normalized name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {}
    extras = [each for name in EXTRAS[lock] for each in project["optional-dependencies"][name]]
    for requirement in [*project["dependencies"], *extras]:
        pin = _PIN.match(requirement)
        assert pin is not None, f"{requirement} has no exact version"
        found[re.sub(r"[-_.]+", "-", pin[1]).lower()] = pin[2]
    return found


def locked(lock: str) -> dict[str, str]:
    return {entry[1]: entry[2] for entry in _ENTRY.finditer(LOCKS[lock])}


@pytest.mark.parametrize("lock", LOCKS)
def test_it_holds_what_pyproject_pins(lock: str) -> None:
    found = locked(lock)
    assert {name: found.get(name) for name in pins(lock)} == pins(lock), "run: make lock"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_is_a_package_with_hashes(lock: str) -> None:
    rest = _ENTRY.sub("", LOCKS[lock])
    assert [line for line in rest.splitlines() if not line.startswith("#")] == []
    assert len(locked(lock)) > len(pins(lock))


def test_both_images_have_the_same_versions() -> None:
    worker, spark = (locked(lock) for lock in LOCKS)
    assert spark == {**worker, **{name: spark[name] for name in ("pyspark", "py4j", "pyarrow", "pyroaring", "xxhash")}}


@pytest.mark.parametrize("lock", LOCKS)
def test_it_names_no_place(lock: str) -> None:
    for line in LOCKS[lock].splitlines():
        if not line.startswith("    --hash="):
            assert not re.search(r"://|/|index|find-links|trusted", line), line


def test_the_image_installs_nothing_else() -> None:
    installs = [
        line for line in DOCKERFILE.splitlines() if re.search(r"(?<![-\w])(pip|apt|apt-get|curl|wget) ", line) and line.startswith("RUN")
    ]
    assert [line for line in installs if "uninstall" not in line] == [
        "RUN pip install --no-cache-dir --require-hashes -r requirements.txt",
        "RUN pip install --no-cache-dir --no-deps --no-build-isolation .",
        "RUN pip install --no-cache-dir --require-hashes --no-build-isolation -r requirements-spark.txt",
        "RUN apt-get update && apt-get install --yes --no-install-recommends openjdk-21-jre-headless && rm -rf /var/lib/apt/lists/*",
    ]
    assert re.search(r"^ARG BASE=python:3\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}$", DOCKERFILE, re.MULTILINE)


def stages() -> dict[str, tuple[str, list[str]]]:
    """Stage → (the stage or image that it begins with, its lines)."""
    found: dict[str, tuple[str, list[str]]] = {}
    for block in re.split(r"^(?=FROM )", DOCKERFILE, flags=re.MULTILINE)[1:]:
        head, *lines = block.splitlines()
        _, base, _, name = head.split()
        found[name] = (base, lines)
    return found


def test_the_last_stage_is_the_worker_and_both_images_run_unprivileged() -> None:
    known = stages()
    assert {name: base for name, (base, _) in known.items()} == {
        "build": "${BASE}",
        "build-worker": "build",
        "build-spark": "build",
        "runtime": "${BASE}",
        "spark": "runtime",
        "worker": "runtime",
    }
    assert list(known)[-1] == "worker"
    for image, source in (("worker", "build-worker"), ("spark", "build-spark")):
        lines = [*known["runtime"][1], *known[image][1]]
        # Kubernetes compares numbers only (runAsNonRoot).
        assert [line for line in lines if line.startswith("USER ")][-1] == "USER 1001"
        assert f"COPY --from={source} /opt/understudy /opt/understudy" in known[image][1]
        assert known[source][1][-2 if not known[source][1][-1] else -1] == "RUN pip uninstall --yes setuptools"


def test_the_image_s_context_holds_what_it_copies() -> None:
    sent = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--from=)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    assert {name for line in copied for name in line.split()} == sent
    assert all((ROOT / name).exists() for name in sent)


@pytest.mark.parametrize("name", ["postgres", "kafka", "understudy"])
def test_compose_describes_the_services(name: str) -> None:
    service = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"][name]
    assert ("image" in service) != ("build" in service)
    assert all(isinstance(value, str) for value in service["environment"].values())
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
