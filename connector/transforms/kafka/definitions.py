"""How Kafka's own transforms are described: by their class names, one name for each side of the record that they have a form for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from connector.configdef.key import VERSIONS, Key
from connector.configdef.options import OptionError, Options
from connector.transforms.kafka.list_validators import DISTINCT, without_repetitions
from connector.transforms.kafka.sides import Side
from connector.transforms.transform import Transform, TransformDefinition

PACKAGE: Final = "org.apache.kafka.connect.transforms"


def definition(name: str, keys: tuple[Key, ...], make: Callable[[Options], Transform], doc: str) -> TransformDefinition:
    """Return the definition of a transform that every emulated version has. Its options are checked before it is made."""

    def checked(options: Options) -> Transform:
        check_options(keys, options)
        return make(options)

    return TransformDefinition(f"{PACKAGE}.{name}", keys, checked, VERSIONS, doc)


def both_sides(name: str, keys: tuple[Key, ...], make: Callable[[Options, Side], Transform], doc: str) -> tuple[TransformDefinition, ...]:
    """Return the definitions of a transform's two forms, for keys and for values."""
    return (
        definition(f"{name}$Key", keys, lambda options: make(options, "key"), doc),
        definition(f"{name}$Value", keys, lambda options: make(options, "value"), doc),
    )


def check_options(keys: tuple[Key, ...], options: Options) -> None:
    """Raise OptionError for the first option that is missing, of the wrong type, or refused by one of its validators."""
    for key in keys:
        if options.emulation.version not in key.versions:
            continue
        value = options.text(key.name)
        if value is not None and key.type == "BOOLEAN":
            options.flag(key.name)
        elif value is not None and key.type == "INT":
            options.number(key.name)
        validators = key.validators_in(options.emulation.version)
        if DISTINCT.intersection(validators):
            value = without_repetitions(value)
        for validator in validators:
            for problem in validator(key, value, options.raw):
                raise OptionError(problem)
