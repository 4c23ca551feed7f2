"""Compile Confluent's converters from their public source: ``python -m tests.differential.converters.confluent CHECKOUT JARS FOLDER``.

CHECKOUT is github.com/confluentinc/schema-registry at the tag v8.3.1, JARS a folder with what ``tests/differential/java/confluent.pom.xml``
lists, and FOLDER gets a jar with the classes. The program then compares with ``--confluent JARS FOLDER``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.differential.java_program import MissingError, jars, libraries
from workers.quickstart.embedded.java import find_java

_CONVERTERS: Final = (
    "avro-converter/src/main/java/io/confluent/connect/avro/AvroConverter.java",
    "json-schema-converter/src/main/java/io/confluent/connect/json/JsonSchemaConverter.java",
    "protobuf-converter/src/main/java/io/confluent/connect/protobuf/ProtobufConverter.java",
)
_RESOURCES: Final = ("client", "json-schema-provider")


def compile_converters(checkout: Path, dependencies: list[Path], target: Path) -> Path:
    """Return the jar. Raises MissingError for a checkout without the sources, CalledProcessError where they do not compile."""
    sources = [checkout / source for source in _CONVERTERS]
    if lacking := [source for source in sources if not source.exists()]:
        raise MissingError(f"{lacking[0]} does not exist; name a checkout of confluentinc/schema-registry")
    tools = find_java().program.resolve().parent
    # The compiler takes from the other modules what the converters need of them.
    path = os.pathsep.join(str(each) for each in sorted(checkout.glob("*/src/main/java")))
    target.mkdir(parents=True, exist_ok=True)
    made = target / "confluent-converters.jar"
    with tempfile.TemporaryDirectory() as classes:
        command = [str(tools / "javac"), "-proc:none", "-nowarn", "-d", classes, "-sourcepath", path]
        subprocess.run([*command, "-cp", os.pathsep.join(map(str, dependencies)), *map(str, sources)], check=True)
        parts = [part for module in _RESOURCES for part in ("-C", str(checkout / module / "src/main/resources"), ".")]
        subprocess.run([str(tools / "jar"), "cf", str(made), "-C", classes, ".", *parts], check=True)
    return made


def main() -> int:
    """Compile, and say where the jar is. Return 2 where something is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.converters.confluent")
    for name in ("checkout", "jars", "folder"):
        parser.add_argument(name, type=Path)
    asked = parser.parse_args()
    try:
        dependencies = jars([str(libraries("connect-4.3.0")), str(asked.jars)])
        sys.stdout.write(f"{compile_converters(asked.checkout, dependencies, asked.folder)}\n")
    except MissingError as problem:
        sys.stderr.write(f"Cannot compile: {problem}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
