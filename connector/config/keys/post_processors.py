"""``post.processors``: names, each with the class ``<name>.type`` and its properties.

One class is supported, Debezium's for columns that are read again. As recorded, a malformed setting has its default's effect, and an
include list takes precedence over an exclude list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from connector.config.keys.named_classes import NamedClasses
from connector.configdef.key import Key, Settings
from connector.configdef.patterns import regex_problem, split_regexes
from connector.emulation import emulation_of

RESELECT: Final = "io.debezium.processors.reselect.ReselectColumnsPostProcessor"

_LISTS: Final = ("reselect.columns.include.list", "reselect.columns.exclude.list")
_SWITCHES: Final = {"reselect.unavailable.values": True, "reselect.null.values": True, "reselect.use.event.key": False}
_ON_ERROR: Final = "reselect.error.handling.mode"
_CACHE: Final = "reselect.cache."


@dataclass(frozen=True, slots=True)
class ReselectRule:
    """The columns that are read again. ``include`` and ``exclude`` are regular expressions of ``schema.table:column``."""

    name: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    unavailable: bool = True
    """Whether to read values that the server did not send."""
    nulls: bool = True
    event_key: bool = False
    """Whether the record's key identifies the row; otherwise the table's key does."""
    strict: bool = False
    """Whether the event fails if the row cannot be read again."""


def reselect_rules(settings: Mapping[str, str], version: str) -> tuple[ReselectRule, ...]:
    """Read the post processors, in the order in which they apply; none if ``version`` has none. Validation reports malformed settings."""
    if not emulation_of(version).has_post_processors:
        return ()
    return tuple(_rule(name, settings) for name in NamedClasses(settings.get("post.processors")))


def _rule(name: str, settings: Mapping[str, str]) -> ReselectRule:
    include, exclude = (tuple(split_regexes(settings.get(f"{name}.{listed}", ""))) for listed in _LISTS)
    unavailable, nulls, event_key = (
        {"true": True, "false": False}.get(settings.get(f"{name}.{switch}", "").strip().lower(), default)
        for switch, default in _SWITCHES.items()
    )
    strict = settings.get(f"{name}.{_ON_ERROR}", "").strip().lower() == "fail"
    return ReselectRule(name, include, exclude, unavailable, nulls, event_key, strict)


def reselecting(_key: Key, value: str | None, settings: Settings) -> Iterator[str]:
    """Require that ``<name>.type`` names the supported class, and that lists are readable. :func:`incomplete` reports a missing type."""
    for name in NamedClasses(value):
        setting, named = f"{name}.type", settings.get(f"{name}.type", "").strip()
        if named and named != RESELECT:
            yield f"{setting} names {named}, a class that is not supported; use {RESELECT}"
        for listed in _LISTS:
            for problem in map(regex_problem, split_regexes(settings.get(f"{name}.{listed}", ""))):
                if problem:
                    yield f"{name}.{listed} must hold regular expressions, but {problem}"


def incomplete(settings: Settings, version: str) -> list[str]:
    """Return a problem for each name without a class. As in Debezium, validation accepts it, and the task does not start."""
    return [
        f"Post processor '{rule.name}' has no {rule.name}.type; use {RESELECT}"
        for rule in reselect_rules(settings, version)
        if not settings.get(f"{rule.name}.type", "").strip()
    ]


def post_processor_notices(settings: Settings, version: str) -> list[str]:
    """Return notices about settings that have no effect or are malformed."""
    names = NamedClasses(settings.get("post.processors"))
    if any(names) and not emulation_of(version).has_post_processors:
        return [f"Property post.processors has no effect: {version} knows no post processors."]
    notices = []
    for setting, value in settings.items():
        name = next(iter(names.owners(setting)), "")
        own = setting[len(name) + 1 :] if name else ""
        word = value.strip().lower()
        if own in _SWITCHES and word not in ("true", "false"):
            notices.append(f"Property {setting} is malformed; its default counts: {str(_SWITCHES[own]).lower()}.")
        elif own == _ON_ERROR and word not in ("warn", "fail"):
            notices.append(f"Property {setting} is malformed; its default counts: warn.")
        elif own.startswith(_CACHE):
            notices.append(f"Property {setting} has no effect: every value is read from the table.")
        elif name and own not in ("type", _ON_ERROR, *_LISTS, *_SWITCHES):
            notices.append(f"Property {setting} is unknown and has no effect.")
    return notices
