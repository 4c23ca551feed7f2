"""Recorded answers of real transforms, held against ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from connector.configdef.options import OptionError, Options
from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_6_3, emulation_of
from connector.record.connect_record import ConnectRecord, DataError
from connector.transforms.transform import TransformDefinition

from .java_records import RecordTable

_RECORDED: Final = (DEBEZIUM_2_3_4.version, DEBEZIUM_3_6_3.version)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One transform of one version with its options, its records, and what the reference made of them."""

    version: str
    name: str
    options: Mapping[str, str]
    records: Sequence[ConnectRecord]
    answers: Sequence[ConnectRecord | str | None] | str
    """An error is its text. Instead of a list: the transform could not be made."""


def recorded(file: Path) -> Iterator[Recorded]:
    """Yield all cases of a file."""
    reported = json.loads(file.read_text())
    table = RecordTable(reported["schemas"], reported["parts"], reported["records"])
    for name, options, records, results in reported["cases"]:
        for version in _RECORDED if "all" in results else results:
            answers = results.get("all", results.get(version))
            read = answers if isinstance(answers, str) else [table.record(each) if isinstance(each, int) else each for each in answers]
            yield Recorded(version, name, options, [table.record(each) for each in records], read)


def outcomes(case: Recorded, definitions: Sequence[TransformDefinition]) -> Sequence[ConnectRecord | str | None] | str:
    """Return what ours makes of a case, in the same form."""
    [definition] = [each for each in definitions if each.name == case.name]
    try:
        transform = definition.make(Options(definition.keys_in(case.version), case.options, emulation_of(case.version)))
    except OptionError as error:
        return str(error)
    return [_outcome(transform.apply, record) for record in case.records]


def _outcome(apply: Callable[[ConnectRecord], ConnectRecord | None], record: ConnectRecord) -> Any:
    try:
        return apply(record)
    except DataError as error:
        return str(error)


def difference(expected: Any, actual: Any) -> str | None:
    """Return how the two differ; any error equals any other."""
    if isinstance(expected, str) or isinstance(actual, str):
        return None if isinstance(expected, str) and isinstance(actual, str) else f"expected {expected}\ngot {actual}"
    if isinstance(expected, list):
        found = [f"record {at}: {differs}" for at, pair in enumerate(zip(expected, actual, strict=True)) if (differs := difference(*pair))]
        return "\n".join(found) or None
    return None if expected == actual else f"expected {expected}\ngot {actual}"
