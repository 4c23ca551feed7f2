"""Properties that a configuration brings in by naming transformations and predicates, and what is wrong with them.

Of a transformation's own properties nothing is known here: Connect lists them too, among those that all transformations have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from connector.config_keys.kafka_checks import NULL_VALUE
from connector.config_keys.key import Key
from connector.config_keys.patterns import regex_problem
from connector.config_keys.plugin_classes import PREDICATES, TRANSFORMATIONS, class_version, find_class, is_there, version_problem

_KINDS: Final = (("transforms", "Transforms", "Transformation"), ("predicates", "Predicates", "Predicate"))
_OF_PREDICATES: Final = {
    "HasHeaderKey": ("name", "Name of the header."),
    "TopicNameMatches": ("pattern", "Regular expression for the whole name of the topic."),
}


@dataclass(frozen=True, slots=True)
class StepRow:
    """A property of one step, the value that is shown for it, and Connect's complaints about it."""

    key: Key
    value: str | None
    errors: tuple[str, ...]


def step_keys(settings: Mapping[str, str | None], version: str) -> list[StepRow]:
    """Rows for each named step of the played ``version``, in Connect's order. A null in ``settings`` is a value that cannot be."""
    rows: list[StepRow] = []
    for listing, group, noun in _KINDS:
        listed = (settings.get(listing) or "").strip()
        known = TRANSFORMATIONS[version] if listing == "transforms" else PREDICATES
        for name in dict.fromkeys(entry.strip() for entry in listed.split(",")) if listed else ():
            rows += _step(f"{listing}.{name}", f"{group}: {name}", noun, name, known, version, settings)
    return rows


def _step(
    prefix: str, group: str, noun: str, name: str, known: tuple[str, ...], played: str, settings: Mapping[str, str | None]
) -> list[StepRow]:
    wanted = settings.get(f"{prefix}.type")
    trimmed = (wanted or "").strip()
    found = find_class(trimmed, known, noun)
    errors: tuple[str, ...] = ()
    if wanted is None:
        missing = f'Missing required configuration "{prefix}.type" which has no default value.'
        errors = (NULL_VALUE if f"{prefix}.type" in settings else missing,)
    elif found is None and is_there(trimmed, played):
        errors = (f"Class class {trimmed} does not implement the {noun} interface",)
    elif found is None:
        errors = (f"Invalid value {wanted} for configuration {prefix}.type: Class {wanted} could not be found.",)
    # Kafka finds a class despite blanks around its name, but nothing that it would tell of it.
    told = found is not None and wanted == trimmed
    asked = settings.get(f"{prefix}.plugin.version")
    problem = version_problem(found, played, asked) if found is not None and told else None
    mismatch = () if problem is None else (problem,)
    kind = Key(
        f"{prefix}.type",
        "CLASS",
        None,
        "HIGH",
        f"{noun} type for {name}",
        f"Class of the {noun.lower()} {name}.",
        group=group,
        width="LONG",
        choices=known,
        required=True,
        framework=True,
        versions=(),
        support="refused" if noun == "Transformation" else "ignored",
        reason="This worker applies no transforms yet",
        mend=f"take {name} out of transforms",
    )
    release = None if found is None else class_version(found, played)
    version = Key(
        f"{prefix}.plugin.version",
        "STRING",
        release if told else None,
        "HIGH",
        f"{noun} version for {name}",
        f"Version of the class of the {noun.lower()} {name}.",
        group=group,
        width="LONG",
        choices=() if release is None else (release,),
        framework=True,
        versions=(),
        fixed_order=1,
    )
    shown = trimmed if is_there(trimmed, played) else found
    rows = [StepRow(kind, shown, (*errors, *mismatch)), StepRow(version, *_text(version, settings, mismatch))]
    if found is None or not told or problem is not None:
        return rows
    return rows + (_of_all(prefix, group, settings) if noun == "Transformation" else _of_predicate(prefix, group, found, settings))


def _of_all(prefix: str, group: str, settings: Mapping[str, str | None]) -> list[StepRow]:
    """What every transformation can be told (KIP-585)."""
    negate = Key(
        f"{prefix}.negate",
        "BOOLEAN",
        "false",
        "MEDIUM",
        "negate",
        "Apply it where the predicate does not hold.",
        group=group,
        framework=True,
        versions=(),
        fixed_order=2,
    )
    predicate = Key(
        f"{prefix}.predicate",
        "STRING",
        None,
        "MEDIUM",
        "predicate",
        "Name of the predicate that decides whether it is applied.",
        group=group,
        framework=True,
        versions=(),
        fixed_order=3,
    )
    value, errors = _text(negate, settings, ())
    if value is not None and value.lower() not in ("true", "false"):
        value, errors = None, (f"Invalid value {value} for configuration {negate.name}: Expected value to be either true or false",)
    return [StepRow(negate, value and value.lower(), errors), StepRow(predicate, *_text(predicate, settings, ()))]


def predicate_keys(found: str, prefix: str = "", group: str = "") -> tuple[Key, ...]:
    """The one property that the predicate of class ``found`` has, if any: the name of a header, or a regular expression for topics."""
    simple = found.rpartition(".")[2]
    if simple not in _OF_PREDICATES:
        return ()
    short, doc = _OF_PREDICATES[simple]
    key = Key(
        f"{prefix}.{short}" if prefix else short,
        "STRING",
        None,
        "MEDIUM",
        short,
        doc,
        group=group,
        required=True,
        framework=True,
        versions=(),
        fixed_order=2 if prefix else -1,
    )
    return (key,)


def _of_predicate(prefix: str, group: str, found: str, settings: Mapping[str, str | None]) -> list[StepRow]:
    return [StepRow(key, *_predicate_value(key, found.rpartition(".")[2], settings)) for key in predicate_keys(found, prefix, group)]


def _predicate_value(key: Key, simple: str, settings: Mapping[str, str | None]) -> tuple[str | None, tuple[str, ...]]:
    value, nulls = _text(key, settings, ())
    problem = None
    if value == "":
        problem = "String must be non-empty"
    elif simple == "TopicNameMatches" and value is None:
        problem = 'Invalid regex: Cannot invoke "String.isEmpty()" because "this.pattern" is null'
    elif simple == "TopicNameMatches" and (wrong := regex_problem(value or "")):
        problem = f"Invalid regex: {wrong}"
    errors = [] if key.name in settings else [f'Missing required configuration "{key.name}" which has no default value.']
    if problem is not None:
        errors.append(f"Invalid value {'null' if value is None else value} for configuration {key.display}: {problem}")
    return value, (*errors, *nulls)


def _text(key: Key, settings: Mapping[str, str | None], errors: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    value = settings.get(key.name, key.default)
    if key.name in settings and value is None:
        return None, (*errors, NULL_VALUE)
    return value and value.strip(), errors
