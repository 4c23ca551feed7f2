"""Record what Debezium's transforms do: ``python -m tests.support.record_transforms_debezium 3.6.3.Final JARS... 2.3.4.Final JARS...``.

After each version come the folders with its jars, and those of the Kafka Connect that it runs on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JJavaError

from connector.configdef.key import VERSIONS

from .debezium_cases import Case, changed_cases, router_cases, topic_router_cases, unwrap_cases
from .debezium_neo4j_cases import neo4j_cases
from .debezium_outbox_cases import empty_array_cases, outbox_cases
from .java_records import RecordTable, reported
from .transforms_jvm import JavaTransforms, failure, transforms_jvm

FOLDER: Final = Path(__file__).resolve().parents[1] / "unit" / "connector" / "transforms" / "debezium"
FILES: Final = {
    "unwrap": unwrap_cases,
    "changed": changed_cases,
    "router": router_cases,
    "topic_router": topic_router_cases,
    "outbox": outbox_cases,
    "empty_arrays": empty_array_cases,
    "neo4j": neo4j_cases,
}


def folders(arguments: Sequence[str]) -> Mapping[str, list[Path]]:
    """Return the folders of each version."""
    found: dict[str, list[Path]] = {}
    for argument in arguments:
        if argument in VERSIONS:
            found[argument] = []
        else:
            found[list(found)[-1]].append(Path(argument))
    return found


def answers(java: JavaTransforms, case: Case, table: RecordTable) -> Any:
    """Return what comes of each record: a record's number, null, or an error's text. Where it cannot be made: the error's text."""
    try:
        transform = java.made(case.transform, case.options)
    except Py4JJavaError as error:
        return failure(error)
    return list(_answers(java, transform, case, table))


def _answers(java: JavaTransforms, transform: Any, case: Case, table: RecordTable) -> Iterator[Any]:
    for record in case.records:
        try:
            after = java.applied(transform, reported(record))
        except Py4JJavaError as error:
            yield failure(error)
        else:
            yield None if after is None else table.number(after)


def written(cases: Sequence[Case], outputs: Mapping[str, Sequence[Any]], table: RecordTable) -> str:
    """Return the file: schemas, parts and records each once, and a line for each case. Versions that do the same share their answer."""
    lines = []
    for at, case in enumerate(cases):
        result: dict[str, Any] = {version: outputs[version][at] for version in case.versions}
        if len(result) > 1 and all(answer == outputs[case.versions[0]][at] for answer in result.values()):
            result = {"all": outputs[case.versions[0]][at]}
        lines.append([case.transform, case.options, [table.number(reported(record)) for record in case.records], result])
    several = {"schemas": table.schemas.values, "parts": table.parts.values, "records": table.records.values, "cases": lines}
    texts = ((name, ",\n".join(json.dumps(value, separators=(",", ":")) for value in values)) for name, values in several.items())
    return "{" + ",\n".join(f'"{name}": [\n{text}\n]' for name, text in texts) + "}\n"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(FILES))
    parser.add_argument("--java", default="java")
    parser.add_argument("folders", nargs="+")
    arguments = parser.parse_args()
    made = {name: list(make()) for name, make in FILES.items() if arguments.only in (None, name)}
    tables = {name: RecordTable() for name in made}
    outputs: dict[str, dict[str, list[Any]]] = {name: {} for name in made}
    for version, places in folders(arguments.folders).items():
        with transforms_jvm(places, arguments.java) as java:
            for name, cases in made.items():
                outputs[name][version] = [answers(java, case, tables[name]) if version in case.versions else None for case in cases]
    for name, cases in made.items():
        (FOLDER / f"{name}_recorded.json").write_text(written(cases, outputs[name], tables[name]))


if __name__ == "__main__":
    main()
