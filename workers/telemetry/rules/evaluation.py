"""Evaluates rules: MBeans in, families of series out.

Rules are evaluated once for each attribute of each MBean. The result is kept until the MBean is gone. Only a rule that reads the value
of an attribute (``…><>status: (.+)``) is evaluated again when the value changes.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from connector.java.floats import java_double
from connector.java.regex.replacement import expand
from workers.telemetry.mbean import Attribute, MBean
from workers.telemetry.name_pattern import canonical_name
from workers.telemetry.rules.names import family_name, safe_label, safe_name, snake_case
from workers.telemetry.rules.pattern import Groups
from workers.telemetry.rules.rule_file import Rule, RuleFile

Labels = tuple[tuple[str, str], ...]
Scalar = str | int | float | bool
Keys = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Series:
    """The series that an attribute becomes. ``value`` replaces the attribute's. ``origin`` tells apart series with the same labels."""

    families: tuple[str, ...]
    """Usually one; a second is named like the first with the ending ``_total``."""
    kind: str
    help: str
    labels: Labels
    origin: str
    factor: float = 1.0
    value: float | None = None


@dataclass(slots=True)
class Family:
    """All series of one name, with their values."""

    name: str
    kind: str
    help: str
    samples: list[tuple[Series, float]] = field(default_factory=list)

    @property
    def series(self) -> str:
        """The name of its series: that of a counter ends with ``_total``."""
        return f"{self.name}_total" if self.kind == "counter" else self.name

    def named(self, names: Collection[str]) -> bool:
        """Whether one of these names is that of its series."""
        return self.series in names

    def rows(self) -> Iterator[tuple[Labels, float]]:
        """Yield labels and values. If two series have the same labels, all get the label ``_objectname``."""
        unique = len({series.labels for series, _ in self.samples}) == len(self.samples)
        for series, value in self.samples:
            yield series.labels if unique else tuple(sorted({**dict(series.labels), "_objectname": series.origin}.items())), value


def plain_family(name: str, kind: str, described: str, value: float, labels: Labels = ()) -> Family:
    """Return a family of one series, which no rule made."""
    return Family(name, kind, described, [(Series((name,), kind, described, labels, ""), value)])


@dataclass(frozen=True, slots=True)
class _Line:
    """An attribute, or one entry of an attribute that is a table, without its value."""

    domain: str
    keys: Keys
    attribute: str

    def head(self, *, snake: bool) -> str:
        return f"{self.domain}<{', '.join(f'{key}={value}' for key, value in self.keys)}><>{self._name(snake=snake)}"

    def _name(self, *, snake: bool) -> str:
        return snake_case(self.attribute) if snake else self.attribute

    def default_name(self, *, snake: bool) -> str:
        return "_".join([self.domain, *(value for _, value in self.keys[:1]), self._name(snake=snake)])

    @property
    def help(self) -> str:
        keys = dict(self.keys)
        return f"{self.domain}:name={keys.get('name', 'null')},type={keys.get('type', 'null')},attribute={self.attribute}"


class _Plan:
    """What the rules make of one line. ``open`` are the rules that read its value, ``settled`` is the result of the first after them."""

    __slots__ = ("open", "settled", "value", "valued")

    def __init__(self, open_rules: tuple[Rule, ...], settled: Series | None) -> None:
        self.open = open_rules
        self.settled = settled
        self.value: Scalar | None = None
        """The value for which ``valued`` is the result."""
        self.valued: Series | None = None


_Plans = dict[tuple[str, str | None], _Plan]


class RuleSet:
    """A rule file with the results that are kept from one scrape to the next."""

    def __init__(self, file: RuleFile) -> None:
        self._file: Final = file
        self._known: dict[tuple[str, Keys], _Plans | None] = {}
        """MBean → its plans by attribute and entry; None for an MBean that is left out."""
        self.evaluations = 0
        """How many lines were evaluated; a scrape without new lines adds none."""

    def families(self, beans: Iterable[MBean]) -> list[Family]:
        """Return the families of the MBeans' present values, in the order of their names."""
        steps = self.steps(beans)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                found: list[Family] = end.value
                return found

    def steps(self, beans: Iterable[MBean]) -> Generator[None, None, list[Family]]:
        """Do the work of :meth:`families`, and yield after each MBean, so that the caller can let others run. Return the families."""
        found: dict[str, Family] = {}
        seen: dict[tuple[str, Keys], _Plans | None] = {}
        for bean in beans:
            key = bean.domain, bean.keys
            plans = seen[key] = self._known[key] if key in self._known else self._plans(bean)
            if plans is None:
                continue
            for attribute, value in bean.attributes.items():
                if isinstance(value, int | float | str):
                    self._add(found, plans, bean, attribute, None, value)
                elif isinstance(value, Mapping):
                    for entry, part in value.items():
                        if isinstance(part, int | float | str):
                            self._add(found, plans, bean, attribute, entry, part)
            yield
        self._known = seen
        return [found[name] for name in sorted(found)]

    def _plans(self, bean: MBean) -> _Plans | None:
        file = self._file
        if file.included is not None and not any(pattern.matches(bean) for pattern in file.included):
            return None
        return None if any(pattern.matches(bean) for pattern in file.excluded) else {}

    def _add(self, found: dict[str, Family], plans: _Plans, bean: MBean, attribute: str, entry: str | None, value: Scalar) -> None:
        plan = plans.get((attribute, entry))
        if plan is None:
            plan = plans[attribute, entry] = self._plan(bean, attribute, entry)
        series = plan.settled
        if plan.open:
            # NaN differs from itself, and prints the same.
            if plan.value != value and not (plan.value != plan.value and value != value):  # noqa: PLR0124
                plan.valued = self._evaluate(plan, _line(bean, attribute, entry), value)
                plan.value = value
            series = plan.valued
        if series is None:
            return
        if series.value is not None:
            number = series.value * series.factor
        elif isinstance(value, str):
            return
        else:
            number = float(value) if isinstance(value, bool) else value * series.factor
        for name in series.families:
            family = found.get(name)
            if family is None:
                family = found[name] = Family(name, series.kind, series.help)
            elif family.kind != series.kind:
                family.kind = "unknown"
            family.samples.append((series, number))

    def _plan(self, bean: MBean, attribute: str, entry: str | None) -> _Plan:
        """Evaluate all rules that the value cannot change."""
        filters = self._file.attributes
        if filters.excluded or filters.included:
            name = canonical_name(bean)
            if attribute in filters.excluded.get(name, ()) or attribute not in filters.included.get(name, (attribute,)):
                return _Plan((), None)
        self.evaluations += 1
        line = _line(bean, attribute, entry)
        waiting: list[Rule] = []
        for rule in self._file.rules:
            pattern = rule.pattern
            if pattern is None:
                return _Plan(tuple(waiting), self._series(rule, line, None))
            head = line.head(snake=rule.snake_case)
            if rule.cached or pattern.steady:
                groups = pattern.match(f"{head}: {'<cache>' if rule.cached else ''}")
                if groups is not None:
                    return _Plan(tuple(waiting), self._series(rule, line, groups))
            elif pattern.gate is None or pattern.gate.match(f"{head}: ") is not None:
                waiting.append(rule)
        return _Plan(tuple(waiting), None)

    def _evaluate(self, plan: _Plan, line: _Line, value: Scalar) -> Series | None:
        """Return the result for this value."""
        self.evaluations += 1
        text = _printed(value)
        for rule in plan.open:
            groups = rule.pattern.match(f"{line.head(snake=rule.snake_case)}: {text}") if rule.pattern is not None else None
            if groups is not None:
                return self._series(rule, line, groups)
        return plan.settled

    def _series(self, rule: Rule, line: _Line, groups: Groups | None) -> Series | None:
        """Return the series that the rule makes of the line; None if it drops the line."""
        value = None
        if rule.value is not None:
            if groups is None:
                return None
            try:
                value = float(expand(rule.value, groups))
            except ValueError:
                return None
        origin = line.head(snake=rule.snake_case)
        if rule.name is None or groups is None:
            labels = [(safe_label(key), text) for key, text in line.keys[1:]]
            name, described = safe_name(line.default_name(snake=rule.snake_case)), line.help
        else:
            name = safe_name(expand(rule.name, groups))
            if not name:
                return None
            labels = [(safe_label(expand(key, groups)), expand(text, groups)) for key, text in rule.labels]
            labels = [(key, text) for key, text in labels if key and text]
            described = line.help if rule.help is None else expand(rule.help, groups)
        if self._file.lower_names:
            name = name.lower()
        if self._file.lower_labels:
            labels = [(key.lower(), text) for key, text in labels]
        # Of two labels of one name the last one stays, and a name with two underscores before it is Prometheus' own: it would refuse the
        # whole scrape.
        unique = {f"_{key.lstrip('_')}" if key.startswith("__") else key: text for key, text in labels}
        family = family_name(name)
        twice = self._file.keeps_totals and rule.kind == "unknown" and name.endswith("_total")
        families = (family, f"{family}_total") if twice else (family,)
        return Series(families, rule.kind, described, tuple(sorted(unique.items())), origin, rule.factor, value)


def _line(bean: MBean, attribute: str, entry: str | None) -> _Line:
    if entry is None:
        return _Line(bean.domain, bean.keys, attribute)
    # In JMX the entry of a table has its key as one more key property.
    return _Line(bean.domain, tuple({**dict(bean.keys), "key": entry}.items()), attribute)


def _printed(value: Attribute) -> str:
    """The value as Java prints it."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return java_double(value).decode().strip('"')
    return str(value)
