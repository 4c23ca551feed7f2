"""Records what the transforms and predicates of Kafka Connect 4.3 and 3.9 make of the cases in :mod:`tests.support.transform_cases_kafka`.

Usage: ``python -m tests.support.record_transforms_kafka JARS_OF_4_3 JARS_OF_3_9``, each a folder with Kafka Connect's jars,
on Java 19 or later (``JAVA_HOME``): older ones print some numbers longer.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tests.support.java_transforms import JavaTransforms, java
from tests.support.transform_cases_kafka import CASES, PACKAGE, RECORDS

OUT: Final = Path(__file__).parents[1] / "unit/connector/transforms/kafka/kafka_recorded.json"


class Interned:
    """Long texts, each stored once; a place stands for one."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def place(self, text: str) -> int:
        """Return the text's place."""
        return self.texts.setdefault(text, len(self.texts))

    def packed(self, answer: Any) -> Any:
        """Return an answer whose schemas and values are places. A failure is the place of its reason."""
        if isinstance(answer, dict) and "failed" in answer:
            return self.place(f"{answer['failed']}: {answer['because']}")
        if answer is None:
            return None
        packed = dict(answer)
        for side in ("key", "value"):
            packed[side] = self._pair(packed[side])
        if "headers" in packed:
            packed["headers"] = [[name, *self._pair(pair)] for name, *pair in packed["headers"]]
        return packed

    def _pair(self, pair: list[Any]) -> list[Any]:
        schema, value = pair
        if schema is None:
            return [None, value]
        return [self.place(schema), self.place(value) if isinstance(value, str) else "unreadable"]


def difference(before: dict[str, Any], after: Any) -> Any:
    """Return what is new in a record; null stands for what is gone. A failure and a dropped record stay as they are."""
    if not isinstance(after, dict) or "topic" not in after:
        return after
    return {name: after.get(name) for name in before | after if after.get(name) != before.get(name)}


def record(folder: Path, interned: Interned) -> tuple[dict[str, Any], list[Any]]:
    """Return the options of each class; and for each case what is wrong with its options, and an answer for each of its records."""
    answers: list[Any] = []
    with java(folder) as gateway:
        transforms = JavaTransforms(gateway)
        listed = {name: transforms.options(f"{PACKAGE}.{name}") for name in dict.fromkeys(case[0] for case in CASES)}
        for name, options, records in CASES:
            wrong = transforms.validate(f"{PACKAGE}.{name}", options)
            step = transforms.make(f"{PACKAGE}.{name}", options)
            if isinstance(step, dict):
                answers.append([wrong, step])
                continue
            if name.startswith("predicates."):
                answers.append([wrong, [transforms.test(step, RECORDS[each]) for each in records]])
                continue
            reported = [interned.packed(transforms.apply(step, RECORDS[each])) for each in records]
            before = [interned.packed(transforms._reported(transforms.record(RECORDS[each]))) for each in records]
            answers.append([wrong, [difference(was, made) for was, made in zip(before, reported, strict=True)]])
    return listed, answers


def _listed(lines: Iterable[str]) -> str:
    return "[\n" + ",\n".join(lines) + "]"


def _members(table: Mapping[str, Any]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(each, ensure_ascii=False)}" for name, each in table.items()) + "}"


def main() -> None:
    """Record both versions."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("jars", type=Path)
    arguments.add_argument("jars_until_2", type=Path)
    given = arguments.parse_args()
    interned = Interned()
    options, newer = record(given.jars, interned)
    options_until_2, older = record(given.jars_until_2, interned)
    lines = [json.dumps([*case, *answer], ensure_ascii=False) for case, answer in zip(CASES, newer, strict=True)]
    differing = [json.dumps([at, *old], ensure_ascii=False) for at, (new, old) in enumerate(zip(newer, older, strict=True)) if new != old]
    parts = {
        "options": _members(options),
        "options_until_2": _members({name: keys for name, keys in options_until_2.items() if keys != options[name]}),
        "records": json.dumps(RECORDS, ensure_ascii=False),
        "texts": _listed(json.dumps(each, ensure_ascii=False) for each in interned.texts),
        "cases": _listed(lines),
        "until_2": _listed(differing),
    }
    text = "{" + ",\n".join(f'"{name}": {part}' for name, part in parts.items()) + "}\n"
    OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
