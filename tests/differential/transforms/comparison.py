"""How two answers to a case differ."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

_PARTS: Final = ("key", "value")
_FLOAT: Final = struct.Struct("f")


_INTENDED: Final = (
    (
        r"EnforceRecordSize",
        r"ClassCastException: class .* cannot be cast to class (java\.nio\.ByteBuffer|org\.apache\.kafka\.connect\.data\.Struct) ",
    ),
    (r"SwapGeometryCoordinates", "NullPointerException: null"),
)
"""What fails in a transform of the reference alone (docs/differences.md): its name and the failure."""
_INTENDED_LATER: Final = (
    (r"Cast\$(Key|Value)", r"DataException: Invalid type for (Decimal|Date|Time|Timestamp), expected"),
    (r"MaskField\$(Key|Value)", r"DataException: Decimal value has mismatching scale"),
)
"""What then fails in the converter."""
_EARLY: Final = re.compile("timestamp.format is not a pattern|timezone")
"""What the reference notices at the first record."""


class Difference(NamedTuple):
    """One difference: ``kind`` says where, for counting; the rest is for reading."""

    kind: str
    expected: Any
    actual: Any


def differences(config: Mapping[str, str], expected: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield what differs. Two failures of one record in the same step are equal: their texts differ by intention."""
    yield from _validated(expected["validated"], actual["validated"])
    if "refused" in expected or "refused" in actual:
        known = _EARLY.search(actual.get("refused", "")) or expected.get("refused", "").startswith("ArrayIndexOutOfBoundsException")
        if ("refused" in expected) != ("refused" in actual) and not known:
            yield Difference("refused", expected.get("refused"), actual.get("refused"))
        return
    if ("records" in expected) != ("records" in actual):
        return
    steps = _steps(config)
    for at, (one, other) in enumerate(zip(expected.get("records", ()), actual.get("records", ()), strict=True)):
        if "unreadable" in one:
            yield Difference(f"record {at} unreadable", one, None)
        elif "failed" in other and other["failed"].endswith(" in the transform"):
            # The user sees the name of a Python exception.
            yield Difference(f"record {at} fails without a sentence", one, other)
        elif _fails_alone(one, other, steps):
            continue
        elif "failed" in one and "failed" in other:
            if one["step"] != other["step"]:
                yield Difference(f"record {at} fails in another step", one, other)
        elif "failed" in one or "failed" in other:
            yield Difference(f"record {at} fails", one.get("failed", "no failure"), other.get("failed", "no failure"))
        else:
            yield from (Difference(f"record {at} {name}", *pair) for name, *pair in _unlike(_read(one), _read(other), ""))


def _steps(config: Mapping[str, str]) -> list[str]:
    """The class names of the steps, without their packages."""
    return [config.get(f"transforms.{alias}.type", "").rpartition(".")[2].strip() for alias in config.get("transforms", "").split(",")]


def _fails_alone(expected: Mapping[str, Any], actual: Mapping[str, Any], steps: Sequence[str]) -> bool:
    """Whether the reference fails where that is a known difference; what comes after this step cannot be compared."""
    if "failed" not in expected or actual.get("step", len(steps) + 1) <= expected["step"]:
        return False
    within = expected["step"] < len(steps)
    return any(
        re.match(failure, expected["failed"])
        for name, failure in (_INTENDED if within else _INTENDED_LATER)
        for step in (steps[expected["step"] : expected["step"] + 1] if within else steps)
        if re.fullmatch(name, step)
    )


def _validated(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterator[Difference]:
    if "thrown" in expected:
        if any(row[1] for row in actual.values()):
            # An answer 500 there, and an error of the property here.
            return
        yield Difference("validation", expected["thrown"], {name: row for name, row in actual.items() if row[1]})
        return
    for name in sorted(expected.keys() | actual.keys()):
        if expected.get(name) != actual.get(name):
            yield Difference("validation", [name, expected.get(name)], actual.get(name))


def _read(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with its parts as schemas and values. The order of a map is not compared: the reference reads it into a hash table."""
    read = dict(record)
    for name in _PARTS:
        if name in read:
            read[name] = _part(read[name])
    if "headers" in read:
        read["headers"] = [[name, _part(text)] for name, text in read["headers"]]
    return read


def _part(text: str | None) -> Any:
    if text is None:
        return None
    document = json.loads(text, object_pairs_hook=list)
    (_, schema), (_, payload) = document
    # As pairs: the order of a schema's members counts.
    return [schema, _value(json.loads(text)["schema"], json.loads(text)["payload"], payload)]


def _value(schema: Any, value: Any, pairs: Any) -> Any:
    """The value with maps in the order of their keys, as texts that tell 1 from 1.0."""
    if schema is not None and schema["type"] == "float" and isinstance(value, float):
        # Java before 19 does not always write the shortest text of a number.
        return _FLOAT.unpack(_FLOAT.pack(value))[0]
    if schema is None or value is None or schema["type"] not in ("struct", "array", "map"):
        return json.dumps(value, sort_keys=True)
    match schema["type"]:
        case "struct":
            of_field = dict(pairs)
            return {each["field"]: _value(each, value[each["field"]], of_field[each["field"]]) for each in schema["fields"]}
        case "array":
            return [_value(schema["items"], *each) for each in zip(value, pairs, strict=True)]
        case _:
            entries = value.items() if isinstance(value, dict) else value
            several = [[name, _value(schema["values"], each, pair[1])] for (name, each), pair in zip(entries, pairs, strict=True)]
            return sorted(several, key=json.dumps)


def _unlike(expected: Any, actual: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the innermost members that differ, with their paths."""
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        for name in expected:
            yield from _unlike(expected[name], actual[name], f"{path}/{name}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for at, pair in enumerate(zip(expected, actual, strict=True)):
            yield from _unlike(*pair, f"{path}/{at}")
    elif expected != actual:
        yield path, expected, actual
