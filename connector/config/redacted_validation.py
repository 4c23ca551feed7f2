"""Validation answers without secrets, for configurations whose values may be references (``${provider:path:key}``).

No text of an answer is made from a resolved value. Names, values and texts come from a second validation, which sees the references as they
are written. The validation of the resolved values decides only which properties have errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from connector.config.keys import BY_NAME, BadVersionError, select_version
from connector.config.keys.converters import SIDES, converter_class
from connector.config.validation import FieldValidation, Validation, validate

Hide = Callable[[str], str]


def of_reference(name: str) -> str:
    """Return the sentence about a property that holds a reference and has an error. It is the same for every error."""
    return (
        f"The '{name}' value is invalid: The value that its reference stands for cannot be used. "
        "It is not shown here; check it where the reference points"
    )


def of_others(name: str) -> str:
    """Return the sentence about a property whose error depends on the value of another property's reference."""
    return (
        f"The '{name}' value is invalid: It does not go together with a value that the reference of another property stands for. "
        "That value is not shown here; check both"
    )


def shown_settings(given: Mapping[str, str | None], resolved: Mapping[str, str | None], held: frozenset[str]) -> dict[str, str | None]:
    """Return ``given`` with those resolved values that decide about other properties and are one of a few known words.

    ``held`` names the properties that hold references.
    """
    settings = dict(given)
    for name in held:
        value = resolved[name] or ""
        word = _known_word(name, value)
        if word is not None:
            settings[name] = word
    return settings


def _known_word(name: str, value: str) -> str | None:
    if name == "connector.plugin.version":
        try:
            return select_version(value)
        except BadVersionError:
            return None
    side = name.removesuffix(".converter")
    if side in SIDES and side != name:
        return converter_class(side, value)
    key = BY_NAME.get(name)
    word = value.strip().lower()
    if key is None or not (key.enumerated or key.type == "BOOLEAN"):
        return None
    return word if word in ("true", "false", *(choice.lower() for choice in key.choices)) else None


def public(
    validation: Validation, given: Mapping[str, str | None], resolved: Mapping[str, str | None], held: frozenset[str], hide: Hide
) -> Validation:
    """Return ``validation``, the validation of ``resolved`` and of the database, without anything that reveals a resolved value.

    ``given`` is the configuration as it was sent. The properties in ``held`` hold references. ``hide`` removes resolved values from the
    database's texts.
    """
    table = {field.name: field for field in validate(resolved).fields}
    shown_run = validate(shown_settings(given, resolved, held))
    shown = {field.name: field for field in shown_run.fields}
    owners, fields = sorted(held), list[FieldValidation]()
    blamed: list[str] = []
    for field in validation.fields:
        public_field = shown.get(field.name)
        if public_field is None:
            # A resolved value is part of its name.
            blamed += [_owner(field.name, owners)] if field.errors else []
            continue
        own = (*table[field.name].errors, *table[field.name].warnings) if field.name in table else ()
        errors, warnings = (
            tuple(dict.fromkeys(_line(line, field.name, own, public_field, held, hide) for line in lines))
            for lines in (field.errors, field.warnings)
        )
        value = public_field.value if field.name not in held or field.value is None else given[field.name]
        fields.append(replace(public_field, value=value, errors=errors, visible=field.visible, warnings=warnings))
    redacted = Validation(tuple(fields), tuple(group for group in validation.groups if group in shown_run.groups), validation.version)
    return redacted.with_errors([(name, of_reference(name)) for name in dict.fromkeys(blamed)])


def public_lines(real: list[tuple[str, str]], shown: list[tuple[str, str]], held: frozenset[str]) -> list[tuple[str, str]]:
    """Return the problems ``real`` of the resolved values as (property, sentence), without these values.

    ``shown`` are the problems of the configuration as it was sent.
    """
    same = set(shown)
    lines = [(name, of_reference(name) if name in held else line if (name, line) in same else of_others(name)) for name, line in real]
    return list(dict.fromkeys(lines))


def _line(line: str, name: str, own: tuple[str, ...], shown: FieldValidation, held: frozenset[str], hide: Hide) -> str:
    if line not in own:
        return hide(line)
    if name in held:
        return of_reference(name)
    return line if line in (*shown.errors, *shown.warnings) else of_others(name)


def _owner(name: str, held: Sequence[str]) -> str:
    """Return the property whose resolved value is part of ``name``."""
    return next((owner for owner in held if name.startswith(f"{owner}.")), held[0])
