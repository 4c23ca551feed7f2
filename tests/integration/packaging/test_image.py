"""The steps of the Dockerfile that make the worker's environment, run on this machine in another folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import ROOT
from tests.unit.test_requirements import stages

pytestmark = pytest.mark.long

PLACE = "/opt/understudy"


def sh(line: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(["/bin/sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_steps_make_an_environment_with_the_worker_alone(tmp_path: Path) -> None:
    build, place = tmp_path / "build", tmp_path / "opt"
    build.mkdir()
    # The base image's own Python and pip are this environment's.
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    environment |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    for line in [*stages()["build"][1], *stages()["build-worker"][1]]:
        word, _, rest = line.replace(PLACE, str(place)).partition(" ")
        match word:
            case "RUN":
                sh(rest, build, environment)
            case "ENV":
                name, _, value = rest.partition("=")
                environment[name] = value
            case "COPY":
                *sources, target = rest.split()
                for source in sources:
                    if (ROOT / source).is_dir():
                        shutil.copytree(ROOT / source, build / target, ignore=shutil.ignore_patterns("__pycache__"))
                    else:
                        shutil.copy(ROOT / source, build / target)
            case _:
                assert word in ("WORKDIR", "#", ""), line
    runtime = "\n".join(stages()["runtime"][1])
    [program] = re.findall(r'^ENTRYPOINT \["([a-z]+)"\]$', runtime, re.MULTILINE)
    only = {"PATH": f"{place}/bin", "HOME": str(tmp_path)}
    assert sh(f"{program} --version", tmp_path, only).startswith("understudy ")
    assert not {"pip", "setuptools"} & {folder.name for folder in place.glob("lib/python3.*/site-packages/*")}
    size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file() and file.suffix != ".pyc")
    assert size < 100 << 20, "the page says 82 MB"
