"""The start of the JVM that PySpark talks to."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from pyspark import SparkConf, SparkContext

_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/")


def start_jvm(settings: Mapping[str, str], hidden: Collection[str]) -> None:
    """Start the process's JVM with these settings of Spark, unless it has one. Those named in ``hidden`` are not in its arguments.

    PySpark would pass all of them as arguments, which every user of the machine can read. These are passed in a file that only this user
    can read, and that is removed when the JVM has read it.
    """
    if SparkContext._gateway is not None:  # noqa: SLF001 - PySpark does not show it otherwise
        return
    shown = SparkConf(loadDefaults=False).setAll([(name, value) for name, value in settings.items() if name not in hidden])
    former = os.environ.get(_ARGUMENTS)
    # mkdtemp's folder is for this user alone.
    with tempfile.TemporaryDirectory(prefix="spark-settings-") as folder:
        file = Path(folder) / "settings.properties"
        file.write_text(properties({name: value for name, value in settings.items() if name in hidden}), encoding="ascii")
        os.environ[_ARGUMENTS] = f"--properties-file {shlex.quote(str(file))} --load-spark-defaults {former or 'pyspark-shell'}"
        try:
            SparkContext._ensure_initialized(conf=shown)  # noqa: SLF001 - a session would start it with its own settings as arguments
        finally:
            del os.environ[_ARGUMENTS]
            if former is not None:
                os.environ[_ARGUMENTS] = former


def properties(settings: Mapping[str, str]) -> str:
    """The settings as a file of Java's properties. Pure."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(text: str) -> str:
    return "".join(one if one in _PLAIN else _units(one) for one in text)


def _units(character: str) -> str:
    code = character.encode("utf-16-be")
    return "".join(f"\\u{code[at : at + 2].hex()}" for at in range(0, len(code), 2))
