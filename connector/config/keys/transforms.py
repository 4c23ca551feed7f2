"""Properties of the transformations and predicates that a configuration names, and their errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from connector.config.keys.plugin_classes import ABSTRACT, PREDICATES, TRANSFORMATIONS, class_version, find_any_class, version_problem
from connector.configdef.class_names import find_class
from connector.configdef.kafka_validators import NULL_VALUE
from connector.configdef.key import Key
from connector.configdef.order import sorted_keys
from connector.configdef.value import shown_value, unreadable
from connector.java.trim import trim
from connector.transforms import catalog

_KINDS: Final = (("transforms", "Transforms", "Transformation"), ("predicates", "Predicates", "Predicate"))
_OF_ALL: Final = (
    Key(
        "negate",
        "BOOLEAN",
        "false",
        "MEDIUM",
        "negate",
        "Apply it where the predicate does not hold.",
        framework=True,
        fixed_order=-1,
    ),
    Key(
        "predicate",
        "STRING",
        None,
        "MEDIUM",
        "predicate",
        "Name of the predicate that decides whether it is applied.",
        framework=True,
        fixed_order=-1,
    ),
)
"""What every transformation has (KIP-585)."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """A property of one step, its shown value, and Connect's error messages about it."""

    key: Key
    value: str | None
    errors: tuple[str, ...]


def step_keys(settings: Mapping[str, str | None], version: str) -> list[StepRow]:
    """Return rows for each named step of the emulated ``version``, in Connect's order. A null in ``settings`` is an invalid value."""
    rows: list[StepRow] = []
    present = {name: text for name, text in settings.items() if text is not None}
    for listing, group, noun in _KINDS:
        listed = trim(settings.get(listing) or "")
        known = TRANSFORMATIONS[version] if listing == "transforms" else PREDICATES
        for name in dict.fromkeys(trim(entry) for entry in listed.split(",")) if listed else ():
            rows += _step(f"{listing}.{name}", f"{group}: {name}", noun, name, known, version, settings, present)
    return rows


def _step(
    prefix: str,
    group: str,
    noun: str,
    name: str,
    known: tuple[str, ...],
    emulated: str,
    settings: Mapping[str, str | None],
    present: Mapping[str, str],
) -> list[StepRow]:
    """Return rows for one named step: its type, its version, and the properties of its class if the class can be used."""
    wanted = settings.get(f"{prefix}.type")
    trimmed = trim(wanted or "")
    if ":" in trimmed:
        # A class of the user's own: it is loaded when the task starts, and lists no properties.
        return [StepRow(_type_key(prefix, group, noun, name, known), trimmed, _negate_errors(prefix, noun, settings))]
    found = find_class(trimmed, (*known, *_unlisted(noun, emulated)), noun)
    # Kafka finds a class despite blanks around its name, but then shows neither its versions nor its properties.
    described = found is not None and wanted == trimmed
    asked = settings.get(f"{prefix}.plugin.version")
    problem = version_problem(found, emulated, asked) if found is not None else None
    mismatch = () if problem is None else (str(problem),)
    other = None if found is not None else find_any_class(trimmed, emulated)
    negated = _negate_errors(prefix, noun, settings)
    errors = (*_type_errors(prefix, noun, found, other, settings), *negated, *mismatch)
    if NULL_VALUE in errors:
        errors = (*negated, NULL_VALUE)
    if negated and (found or other) is not None:
        # Kafka looks at the predicate first, and at the class only if there is no error.
        errors = negated
    release = None if found is None else class_version(found, emulated)
    version = _version_key(prefix, group, noun, name, release, default=release if described else None)
    rows = [
        StepRow(_type_key(prefix, group, noun, name, known), found or other, errors),
        StepRow(version, *_text(version, settings, mismatch if described or (problem and problem.unreadable) else ())),
    ]
    if found is None or not described or problem is not None:
        return rows
    own = _own_keys(found, noun, emulated)
    orders = {key.name: order for order, key in enumerate(sorted_keys(own), start=2)}
    return rows + [_own_row(key, prefix, group, orders[key.name], emulated, settings, present) for key in sorted_keys(own)]


def _unlisted(noun: str, emulated: str) -> tuple[str, ...]:
    """Return the classes that are here and that Connect does not list: it has them with further jars."""
    if noun == "Predicate":
        return ()
    return tuple(each.name for each in catalog.transforms_of(emulated) if each.name not in TRANSFORMATIONS[emulated])


def _own_keys(found: str, noun: str, emulated: str) -> tuple[Key, ...]:
    if noun == "Predicate":
        return catalog.PREDICATES[found].keys
    return (*catalog.TRANSFORMS[found].keys_in(emulated), *_OF_ALL)


_RENAMED: Final = {"io.debezium.transforms.UnwrapFromEnvelope": "io.debezium.transforms.ExtractNewRecordState"}
"""Classes that no emulated version has any more (renamed in Debezium 0.10). Their options differ too, so the name is not an alias."""


def _own_row(
    key: Key, prefix: str, group: str, order: int, emulated: str, settings: Mapping[str, str | None], present: Mapping[str, str]
) -> StepRow:
    """Return the row of one property of a step's class. Kafka checks it under its short name and reads it under its full one."""
    name = f"{prefix}.{key.name}"
    shown = replace(key, name=name, group=f"{group}: {key.group}" if key.group else group, fixed_order=order, versions=())
    if name not in settings:
        if key.required:
            missing = f'Missing required configuration "{name}" which has no default value.'
            return StepRow(shown, None, (missing, *_problems(key, None, emulated, present)))
        return StepRow(shown, shown_value(key, key.default), ())
    raw = settings[name]
    if raw is None:
        return StepRow(shown, None, (*_problems(key, None, emulated, present), NULL_VALUE))
    value = trim(raw)
    if (problem := unreadable(key, value)) is not None:
        return StepRow(shown, None, (f"Invalid value {raw} for configuration {name}: {problem}",))
    return StepRow(shown, shown_value(key, value), tuple(_problems(key, value, emulated, present)))


def _problems(key: Key, value: str | None, emulated: str, present: Mapping[str, str]) -> Iterable[str]:
    return [problem for validator in key.validators_in(emulated) for problem in validator(key, value, present)]


def _type_errors(prefix: str, noun: str, found: str | None, other: str | None, settings: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return Connect's error messages about a step's class: ``found`` is the class if it is a ``noun``, ``other`` if it is none."""
    key = f"{prefix}.type"
    wanted = settings.get(key)
    if wanted is None:
        return (NULL_VALUE if key in settings else f'Missing required configuration "{key}" which has no default value.',)
    if found is not None:
        return ()
    if other in ABSTRACT and noun == "Transformation":
        return (f"This class is abstract and cannot be created. Did you mean {other}$Key, {other}$Value?",)
    if other is not None:
        return (f"Class class {other} does not implement the {noun} interface",)
    newer = _RENAMED.get(trim(wanted))
    hint = f" Debezium renamed it to {newer}; use that name." if newer else ""
    return (f"Invalid value {wanted} for configuration {key}: Class {wanted} could not be found.{hint}",)


def _negate_errors(prefix: str, noun: str, settings: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return Connect's error message about a ``negate`` without the predicate that it negates. It belongs to the step's class."""
    negate, predicate = f"{prefix}.negate", f"{prefix}.predicate"
    if noun != "Transformation" or negate not in settings or predicate in settings:
        return ()
    return (f"Config '{negate}' was provided but there is no config '{predicate}' defining a predicate to be negated.",)


def _type_key(prefix: str, group: str, noun: str, name: str, known: tuple[str, ...]) -> Key:
    return Key(
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
    )


def _version_key(prefix: str, group: str, noun: str, name: str, release: str | None, *, default: str | None) -> Key:
    return Key(
        f"{prefix}.plugin.version",
        "STRING",
        default,
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


def _text(key: Key, settings: Mapping[str, str | None], errors: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    value = settings.get(key.name, key.default)
    if key.name in settings and value is None:
        return None, (*errors, NULL_VALUE)
    return value and trim(value), errors
