"""The steps that a configuration names in ``transforms`` and ``predicates``, made of their options (KIP-66, KIP-585)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Final, NamedTuple

from connector.configdef.class_names import find_class
from connector.configdef.options import OptionError, Options, Report, discard
from connector.emulation import Emulation
from connector.errors import CdcError, ErrorKind
from connector.java.trim import trim
from connector.plugins.allowed import AllowedPlugins
from connector.ports import Backtracking, no_backtracking
from connector.transforms.catalog import PREDICATES, TRANSFORMS
from connector.transforms.chain import Step
from connector.transforms.custom import custom_transform
from connector.transforms.transform import Predicate, Transform

_NOT_OPTIONS: Final = frozenset({"type", "plugin.version"})
_OF_STEPS: Final = _NOT_OPTIONS | {"predicate", "negate"}


def listed(config: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return the aliases that ``transforms`` or ``predicates`` lists, each once, in order."""
    return tuple(dict.fromkeys(trim(alias) for alias in config.get(name, "").split(",") if trim(alias)))


def under(config: Mapping[str, str], prefix: str, *, without: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return the properties below a prefix, without it."""
    found = {name.removeprefix(prefix): value for name, value in config.items() if name.startswith(prefix)}
    return {name: value for name, value in found.items() if name not in without}


def make_steps(
    config: Mapping[str, str],
    emulation: Emulation,
    plugins: AllowedPlugins,
    report: Report = discard,
    backtrack: Backtracking = no_backtracking,
) -> tuple[Step, ...]:
    """Make every step of a configuration, in order, and ``report`` each property below a step's prefix that the step does not know.

    ``backtrack`` matches patterns for which RE2 does not suffice; who only looks at the steps needs none.
    A user's own class gets all its options, so none of them is reported. Raises CdcError(CONFIG_INVALID) that names the property.
    """
    making = _Making(emulation, plugins, report, backtrack)
    predicates = {alias: _predicate(config, alias, making) for alias in listed(config, "predicates")}
    return tuple(_step(config, alias, making, predicates) for alias in listed(config, "transforms"))


def refused_steps(config: Mapping[str, str], emulation: Emulation) -> list[tuple[str, str]]:
    """Return (property, one sentence) for each step whose options refuse the configuration when it is saved."""
    found: list[tuple[str, str]] = []
    names = sorted(config)
    for alias in listed(config, "transforms"):
        prefix = f"transforms.{alias}."
        name = find_class(trim(config.get(f"{prefix}type", "")), TRANSFORMS, "Transformation")
        if name is None or not TRANSFORMS[name].refused_when_saved:
            continue
        definition = TRANSFORMS[name]
        # The names that begin with the prefix are neighbours. A look at all names for each step would take seconds for a large request.
        own = names[bisect_left(names, prefix) : bisect_left(names, prefix[:-1] + "/")]
        values = under({each: config[each] for each in own}, prefix, without=_OF_STEPS)
        try:
            definition.make(Options(definition.keys_in(emulation.version), values, emulation))
        except OptionError as problem:
            found.append((f"{prefix}type", f"Transform {alias} cannot be used: {problem}"))
    return found


class _Making(NamedTuple):
    """What all steps are made with."""

    emulation: Emulation
    plugins: AllowedPlugins
    report: Report
    backtrack: Backtracking


def _step(config: Mapping[str, str], alias: str, making: _Making, predicates: Mapping[str, Predicate]) -> Step:
    prefix = f"transforms.{alias}."
    wanted = trim(config.get(f"{prefix}type", ""))
    transform = _transform(wanted, under(config, prefix, without=_OF_STEPS), prefix, making)
    name = wanted.replace("$", ".").rpartition(".")[2]
    if f"{prefix}predicate" not in config:
        if f"{prefix}negate" in config:
            # A step that was to leave most records alone must not be applied to all.
            raise _invalid(f"{prefix}negate", f"there is no {prefix}predicate that it negates", "Add the predicate, or leave negate out.")
        return Step(alias, name, transform)
    named = trim(config[f"{prefix}predicate"])
    if named not in predicates:
        reason = f"it names {named}, which predicates does not list" if named else "it is empty"
        raise _invalid(f"{prefix}predicate", reason, "Add it to predicates, or leave it out.")
    return Step(alias, name, transform, predicates[named], trim(config.get(f"{prefix}negate", "false")).lower() == "true")


def _transform(wanted: str, values: Mapping[str, str], prefix: str, making: _Making) -> Transform:
    setting, emulation = f"{prefix}type", making.emulation
    if ":" in wanted:
        return custom_transform(wanted, values, setting, making.plugins)
    available = [name for name, definition in TRANSFORMS.items() if emulation.version in definition.versions]
    name = find_class(wanted, available, "Transformation")
    if name is None:
        raise _invalid(
            setting,
            f"there is no transformation {wanted}",
            "Correct the class name; write a transform of your own in Python, and name it as package.module:Class or give the worker "
            f"class.map.{wanted or '<class>'}=package.module:Class (`understudy docs extending`).",
        )
    definition = TRANSFORMS[name]
    options = Options(definition.keys_in(emulation.version), values, emulation, prefix, making.backtrack)
    try:
        made = definition.make(options)
    except OptionError as problem:
        raise _invalid(prefix.removesuffix("."), str(problem), "Correct the options of this transformation.") from None
    options.report_unused(prefix, making.report)
    return made


def _predicate(config: Mapping[str, str], alias: str, making: _Making) -> Predicate:
    prefix = f"predicates.{alias}."
    wanted = trim(config.get(f"{prefix}type", ""))
    name = find_class(wanted, PREDICATES, "Predicate")
    if name is None:
        raise _invalid(f"{prefix}type", f"there is no predicate {wanted}", "Correct the class name.")
    definition = PREDICATES[name]
    options = Options(definition.keys, under(config, prefix, without=_NOT_OPTIONS), making.emulation, prefix, making.backtrack)
    try:
        made = definition.make(options)
    except OptionError as problem:
        raise _invalid(f"predicates.{alias}", str(problem), "Correct the options of this predicate.") from None
    options.report_unused(prefix, making.report)
    return made


def _invalid(setting: str, reason: str, remedy: str) -> CdcError:
    return CdcError(ErrorKind.CONFIG_INVALID, f"Property {setting} cannot be used: {reason}", remedy)
