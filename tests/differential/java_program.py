"""A Java program of ``tests/differential/java`` that answers cases: JSON lines in, JSON lines out, one JVM for all of them."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any, Final, TypeVar

from workers.quickstart.embedded.java import find_java

SOURCES: Final = Path(__file__).parent / "java"
_OPTIONS: Final = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Duser.timezone=UTC",
    "-Duser.language=en",
    "-Dfile.encoding=UTF-8",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)


_AT_ONCE: Final = 200
Case = TypeVar("Case")


class MissingError(Exception):
    """What the tool needs and did not find."""


class JavaProgram:
    """A running program. Its answers come in the order of the cases."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def answers(self, cases: Iterable[Any]) -> list[Any]:
        """Return the answer of each case."""
        lines = [json.dumps(case) + "\n" for case in cases]
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise MissingError("The program has no pipes")

        def send() -> None:
            stdin.write("".join(lines))
            stdin.flush()

        # Both pipes may fill up.
        sender = Thread(target=send)
        sender.start()
        found = [self._answer(stdout.readline()) for _ in lines]
        sender.join()
        return found

    def each(self, cases: Iterable[Case], request: Callable[[Case], Any] = lambda case: case) -> Iterator[tuple[Case, Any]]:
        """Yield each case with its answer. Not all are sent at once; other cases may be sent between two of them."""
        rest = iter(cases)
        while several := list(islice(rest, _AT_ONCE)):
            yield from zip(several, self.answers(map(request, several)), strict=True)

    def _answer(self, line: str) -> Any:
        if not line:
            raise MissingError(f"The Java program ended with status {self._process.wait()}")
        return json.loads(line)


def jars(places: Sequence[str]) -> list[Path]:
    """Return the jars of these folders and the jars among them. Raises MissingError for a place without any."""
    found: list[Path] = []
    for place in map(Path, places):
        here = [place] if place.suffix == ".jar" and place.exists() else sorted(place.glob("*.jar"))
        if not here:
            raise MissingError(f"{place} has no jars")
        found += here
    return found


def libraries(program: str) -> Path:
    """Return the folder of the jars that the quickstart's preparation fetched, for instance of ``connect-4.3.0``. Raises MissingError."""
    cache = Path(os.environ.get("UNDERSTUDY_CACHE", ".cache"))
    found = cache / program / "libs"
    if not found.is_dir():
        raise MissingError(f"{found} does not exist; the tests of the parity suite fetch it, or name a folder with its jars")
    return found


@contextmanager
def running(source: str, places: Sequence[str]) -> Iterator[JavaProgram]:
    """Compile a source file, run its class with the jars of these places, and end it. Raises MissingError."""
    java = find_java().program
    compiler = java.resolve().with_name("javac")
    if not compiler.exists():
        raise MissingError(f"{compiler} does not exist; the Java that is found first must be a development kit")
    classpath = [str(jar) for jar in jars(places)]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [compiler, "-proc:none", "-d", folder, "-cp", os.pathsep.join(classpath) or ".", str(SOURCES / f"{source}.java")], check=True
        )
        command = [str(java), *_OPTIONS, "-cp", os.pathsep.join([folder, *classpath]), source]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
            try:
                yield JavaProgram(process)
            finally:
                process.kill()
