"""Record :mod:`tests.support.avro_compatibility_cases`: ``python -m tests.support.record_avro_compatibility JARS... > FILE``.

JARS are folders that hold the jars of Avro and what it needs.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.support.avro_compatibility_cases import PAIRS
from tests.support.java_classes import running_java


def main() -> None:
    """Write one answer a line: whether the reader can read what the writer writes."""
    with running_java(sys.argv[1:]) as java:

        def parsed(schema: Any) -> Any:
            return getattr(java.org.apache.avro, "Schema$Parser")().parse(json.dumps(schema))

        check = java.org.apache.avro.SchemaCompatibility.checkReaderWriterCompatibility
        answers = [check(parsed(reader), parsed(writer)).getType().name() == "COMPATIBLE" for reader, writer in PAIRS]
    sys.stdout.write(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
