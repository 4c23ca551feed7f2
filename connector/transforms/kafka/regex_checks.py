"""Checks of options that are regular expressions, in the words of Kafka's validator of them."""

from __future__ import annotations

from collections.abc import Iterator

from connector.configdef.kafka_validators import valid_regex
from connector.configdef.key import Key, Settings
from connector.configdef.options import OptionError, Options
from connector.transforms.routing_pattern import RoutingPattern


def regex(key: Key, value: str | None, settings: Settings) -> Iterator[str]:
    """Require a regular expression that Java compiles. A missing one is reported as the reference does."""
    if value is None:
        problem = 'Cannot invoke "String.isEmpty()" because "this.pattern" is null'
        yield f"Invalid value null for configuration {key.name}: Invalid regex: {problem}"
    yield from valid_regex(key, value, settings)


def some_regex(key: Key, value: str | None, settings: Settings) -> Iterator[str]:
    """Require the same, and no empty one."""
    if value is not None and not value:
        yield f"Invalid value  for configuration {key.name}: String must be non-empty"
    else:
        yield from regex(key, value, settings)


def compiled(name: str, options: Options) -> RoutingPattern:
    """Compile the expression of an option. Raises OptionError, also for one that Java compiles and this worker cannot match."""
    value = options.needed(name)
    try:
        return RoutingPattern(value, options, name)
    except ValueError as error:
        raise OptionError(f"Invalid value {value} for configuration {name}: Invalid regex: {error}") from None
