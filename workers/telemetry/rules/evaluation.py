"""Evaluates rules: MBeans in, families of series out.

Rules are evaluated once for each attribute of each MBean. The result is kept until the MBean is gone. Only a rule that reads the value
of an attribute (``…><>status: (.+)``) is evaluated again when the value changes. The families are kept until series are added or removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from operator import ne
from typing import Final

from connector.java.floats import java_double
from connector.java.regex.replacement import expand
from workers.telemetry.mbean import Attribute, MBean, MBeanTable, separate
from workers.telemetry.name_pattern import canonical_name
from workers.telemetry.rules.family import Family, Series
from workers.telemetry.rules.names import family_name, safe_label, safe_name, snake_case
from workers.telemetry.rules.pattern import Groups
from workers.telemetry.rules.rule_file import Rule, RuleFile

Scalar = str | int | float | bool
Keys = tuple[tuple[str, str], ...]
Key = tuple[str, Keys, int]
"""The name of a MBean. The number is 0, but for MBeans with the name of another one: two connectors may have the same ``topic.prefix``."""


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


class _Cell:
    """An attribute, or one entry of an attribute that is a table: what the rules make of it, and where its series is shown."""

    __slots__ = ("factor", "number", "open", "places", "series", "settled")

    def __init__(self, open_rules: tuple[Rule, ...], settled: Series | None) -> None:
        self.open: Final = open_rules
        """The rules that read its value."""
        self.settled: Final = settled
        """The result of the first rule after them."""
        self.series: Series | None = None
        """The result for the present value."""
        self.number = 0.0
        self.factor: float | None = None
        """The number is a value that is a number times this. None if the result or the number may depend on the value otherwise."""
        self.places: tuple[tuple[Family, int], ...] = ()


_Cells = _Cell | dict[str, _Cell] | None


class _Kept:
    """A MBean at the last scrape. ``shown`` is False for one that is left out."""

    __slots__ = ("bean", "cells", "key", "names", "shown", "tables", "values")

    def __init__(self, key: Key, *, shown: bool) -> None:
        self.key: Final = key
        self.shown: Final = shown
        self.bean: MBean | None = None
        self.names: tuple[str, ...] = ()
        self.values: list[Attribute] = []
        self.cells: list[_Cells] = []
        self.tables: list[int] = []
        """The places of attributes that are tables. Two tables are equal whatever the order of their entries, which the lines show."""

    def stands_for(self, bean: MBean | MBeanTable) -> bool:
        """Whether this is what is kept of a MBean with this name."""
        return type(bean) is MBean and self.key[1] == bean.keys and self.key[0] == bean.domain

    @property
    def rows(self) -> Sequence[_Kept]:
        """The MBean as the only one of a table."""
        return (self,)

    def find_tables(self) -> None:
        """Set ``tables`` after a change of the cells."""
        self.tables = [place for place, each in enumerate(self.cells) if type(each) is dict]

    def each(self) -> Iterator[_Cell]:
        """Yield the cells in the order in which the MBean has them."""
        for cells in self.cells:
            if isinstance(cells, dict):
                yield from cells.values()
            elif cells is not None:
                yield cells


@dataclass(slots=True)
class _Shown:
    """Where numbers of a column are shown, times ``factor``: the row of the table, and the place in the family."""

    family: Family
    factor: float
    lines: list[tuple[int, int]]
    side_by_side: bool = False
    """Whether the family shows all rows of the table, one after the other."""

    def arranged(self, rows: int) -> _Shown:
        """Take note whether the lines, which are all there, are side by side. ``rows`` is the length of the table."""
        first = self.lines[0][1]
        self.side_by_side = len(self.lines) == rows and all(place == first + row for row, place in self.lines)
        return self

    def put(self, column: Sequence[float], former: Sequence[float], *, whole: bool) -> None:
        """Show the numbers of the column that differ from the former one's; with ``whole`` all do."""
        if whole and self.side_by_side:
            self.family.put_from(self.lines[0][1], column if self.factor == 1 else [number * self.factor for number in column])
            return
        # NaN differs from itself, and prints the same.
        self.family.put_all(
            {place: column[row] * self.factor for row, place in self.lines if column[row] is not former[row] and column[row] != former[row]}
        )


class _KeptTable:
    """A table of MBeans at the last scrape. Its rows are as they were when the families were made."""

    __slots__ = ("columns", "places", "rows", "table")
    shown: Final = True

    def __init__(self, table: MBeanTable, rows: Sequence[_Kept]) -> None:
        self.table = table
        self.rows: Final = rows
        self.columns: dict[str, Sequence[float]] = {}
        """The values that the families show."""
        self.places: dict[str, list[_Shown]] | None = None
        """By attribute. None if a rule reads a value."""

    def stands_for(self, bean: MBean | MBeanTable) -> bool:
        """Whether this is what is kept of a table with these names."""
        if not isinstance(bean, MBeanTable) or bean.domain != self.table.domain or list(bean.columns) != list(self.table.columns):
            return False
        return bean.keys is self.table.keys or bean.keys == self.table.keys

    def find_places(self) -> None:
        """Set ``places`` and ``columns`` when the families were made."""
        self.columns = dict(self.table.columns)
        self.places = {}
        for at, attribute in enumerate(self.columns):
            found: dict[tuple[str, float], _Shown] = {}
            for row, kept in enumerate(self.rows):
                cell = kept.cells[at] if kept.shown else None
                if not isinstance(cell, _Cell):
                    continue
                if cell.open:
                    self.places = None
                    return
                # Without a factor it is not shown, or its number is constant.
                if cell.factor is not None:
                    for family, place in cell.places:
                        found.setdefault((family.name, cell.factor), _Shown(family, cell.factor, [])).lines.append((row, place))
            self.places[attribute] = [shown.arranged(len(self.rows)) for shown in found.values()]


class RuleSet:
    """A rule file with the results and the lines that are kept from one scrape to the next.

    1,000 tables have 10,000 lines, of which few change in a second. To make all families again took 25 ms at each scrape.
    """

    def __init__(self, file: RuleFile) -> None:
        self._file: Final = file
        self._known: list[_Kept | _KeptTable] = []
        """The MBeans of the last scrape, in their order."""
        self._shown: list[_Kept | _KeptTable] = []
        """Those of which the families were made."""
        self._families: dict[str, Family] = {}
        self._stale = True
        """Whether series were added or removed since the families were made. A scrape that is cancelled leaves it set."""
        self.evaluations = 0
        """How many lines were evaluated; a scrape without new lines adds none."""

    def families(self, beans: Iterable[MBean | MBeanTable]) -> list[Family]:
        """Return the families of the MBeans' present values, in the order of their names. The next scrape changes them."""
        steps = self.steps(beans)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                found: list[Family] = end.value
                return found

    def steps(self, beans: Iterable[MBean | MBeanTable]) -> Generator[None, None, list[Family]]:
        """Do the work of :meth:`families`, and yield after pieces of it, so that the caller can let others run. Return the families."""
        each = iter(beans)
        seen: list[_Kept | _KeptTable] = []
        for kept, bean in zip(self._known, each, strict=False):
            if not kept.stands_for(bean):
                each = chain((bean,), each)
                break
            seen.append(kept)
            yield from self._renew(kept, bean)
        # With the first MBean that is not the next one of the last scrape, all further ones are looked up.
        first = next(each, None)
        for kept, bean in () if first is None else self._found(seen, chain((first,), each)):
            seen.append(kept)
            yield from self._renew(kept, bean)
        self._known = seen
        shown = [kept for kept in seen if kept.shown]
        if self._stale or shown != self._shown:
            self._stale = True
            yield from self._arrange(shown)
            self._shown, self._stale = shown, False
        return [self._families[name] for name in sorted(self._families)]

    def _found(
        self, seen: Iterable[_Kept | _KeptTable], beans: Iterable[MBean | MBeanTable]
    ) -> Iterator[tuple[_Kept | _KeptTable, MBean | MBeanTable]]:
        """Yield further MBeans of a scrape with what is kept of them. ``seen`` are those before them."""
        known = {row.key: row for kept in self._known for row in kept.rows}
        counts = Counter(row.key[:2] for kept in seen for row in kept.rows)
        for bean in beans:
            rows: list[_Kept] = []
            for one in separate((bean,)):
                name = one.domain, one.keys
                key = (*name, counts[name])
                counts[name] += 1
                rows.append(known.get(key) or _Kept(key, shown=self._is_shown(one)))
            if isinstance(bean, MBeanTable):
                # Its rows get their values when the families are made, in this scrape.
                yield _KeptTable(bean, rows), bean
            else:
                yield rows[0], bean

    def _arrange(self, shown: Sequence[_Kept | _KeptTable]) -> Iterator[None]:
        """Make the families from the present results."""
        tables = [kept for kept in shown if isinstance(kept, _KeptTable)]
        for each in tables:
            yield from self._take_rows(each, each.table)
        found: dict[str, Family] = {}
        for kept in (row for entry in shown for row in entry.rows):
            for cell in kept.each():
                series = cell.series
                cell.places = () if series is None else tuple(self._add(found, name, series, cell.number) for name in series.families)
            yield
        for name, family in found.items():
            family.settle(self._families.get(name))
            yield
        self._families = found
        for each in tables:
            each.find_places()
            yield

    def _add(self, found: dict[str, Family], name: str, series: Series, number: float) -> tuple[Family, int]:
        family = found.get(name)
        if family is None:
            family = found[name] = Family(name, series.kind, series.help)
        return family, family.add(series, number)

    def _renew(self, kept: _Kept | _KeptTable, bean: MBean | MBeanTable) -> Iterator[None]:
        """Take in the present values of the MBean or table."""
        if isinstance(kept, _KeptTable) and isinstance(bean, MBeanTable):
            yield from self._take_table(kept, bean)
        elif isinstance(kept, _Kept) and isinstance(bean, MBean):
            self._take(kept, bean)
        yield

    def _take_table(self, kept: _KeptTable, table: MBeanTable) -> Iterator[None]:
        """Write the numbers that changed, or leave that to :meth:`_arrange` if it is due."""
        if table is kept.table:
            return
        if not self._stale and kept.places is not None:
            for attribute, column in table.columns.items():
                former = kept.columns[attribute]
                if column is not former and column != former:
                    whole = all(map(ne, column, former))
                    for shown in kept.places[attribute]:
                        shown.put(column, former, whole=whole)
                kept.columns[attribute] = column
                yield
        elif not self._stale:
            yield from self._take_rows(kept, table)
        kept.table = table

    def _take_rows(self, kept: _KeptTable, table: MBeanTable) -> Iterator[None]:
        """Take in the present values of the MBeans of a table one by one."""
        for row, bean in zip(kept.rows, table.beans(), strict=True):
            self._take(row, bean)
            yield

    def _take(self, kept: _Kept, bean: MBean) -> None:
        """Take in the present values of the MBean."""
        if kept.bean is bean or not kept.shown:
            return
        names, values = tuple(bean.attributes), list(bean.attributes.values())
        if names != kept.names:
            known = dict(zip(kept.names, zip(kept.values, kept.cells, strict=True), strict=True))
            found = [known.get(name, (None, None)) for name in names]
            kept.names, kept.values, kept.cells = names, [value for value, _ in found], [cells for _, cells in found]
            kept.find_tables()
            self._stale = True
        former, cells, tables = kept.values, kept.cells, kept.tables
        kept.bean = bean
        if values == former and not any(list(_entries(values[at])) != list(_entries(former[at])) for at in tables):
            return
        for at in range(len(values)) if tables else compress(range(len(values)), map(ne, values, former)):
            old, value, cell = former[at], values[at], cells[at]
            # NaN differs from itself, and prints the same.
            if value is old or (value == old and (at not in tables or list(_entries(value)) == list(_entries(old)))):
                continue
            if type(value) is float and type(cell) is _Cell and cell.factor is not None:
                # Nearly all figures that change.
                former[at] = value
                cell.number = number = value * cell.factor
                if not self._stale:
                    for family, place in cell.places:
                        family.put(place, number)
            else:
                cells[at] = self._cells(cell, bean, names[at], old, value)
                former[at] = dict(value) if isinstance(value, Mapping) else value
                kept.find_tables()

    def _cells(self, cells: _Cells, bean: MBean, attribute: str, old: Attribute, value: Attribute) -> _Cells:
        """Return the cells of an attribute whose value has changed."""
        if isinstance(value, int | float | str):
            cell = cells if isinstance(cells, _Cell) else self._plan(bean, attribute, None)
            self._set(cell, self._result(cell, bean, attribute, None, value), value)
            return cell
        if not isinstance(value, Mapping):
            self._stale |= cells is not None
            if isinstance(cells, _Cell):
                cells.series = cells.factor = None
                return cells
            return None
        former = cells if isinstance(cells, dict) else {}
        before = _entries(old)
        table: dict[str, _Cell] = {}
        for entry, part in value.items():
            if isinstance(part, int | float | str):
                cell = table[entry] = former.get(entry) or self._plan(bean, attribute, entry)
                if before.get(entry) != part:
                    self._set(cell, self._result(cell, bean, attribute, entry, part), part)
        self._stale |= list(table) != list(former)
        return table

    def _result(self, cell: _Cell, bean: MBean, attribute: str, entry: str | None, value: Scalar) -> Series | None:
        """Return what the rules make of this value."""
        return self._evaluate(cell, _line(bean, attribute, entry), value) if cell.open else cell.settled

    def _set(self, cell: _Cell, series: Series | None, value: Scalar) -> None:
        """Take in the present result and value of a cell."""
        if series is None:
            number = 0.0
        elif series.value is not None:
            number = series.value * series.factor
        elif isinstance(value, str):
            series, number = None, 0.0
        else:
            number = float(value) if isinstance(value, bool) else value * series.factor
        if series is not cell.series and series != cell.series:
            self._stale = True
            cell.series = series
        elif not self._stale and number != cell.number:
            for family, place in cell.places:
                family.put(place, number)
        cell.number = number
        cell.factor = None if cell.open or series is None or series.value is not None else series.factor

    def _is_shown(self, bean: MBean) -> bool:
        file = self._file
        if file.included is not None and not any(pattern.matches(bean) for pattern in file.included):
            return False
        return not any(pattern.matches(bean) for pattern in file.excluded)

    def _plan(self, bean: MBean, attribute: str, entry: str | None) -> _Cell:
        """Evaluate all rules that the value cannot change."""
        filters = self._file.attributes
        if filters.excluded or filters.included:
            name = canonical_name(bean)
            if attribute in filters.excluded.get(name, ()) or attribute not in filters.included.get(name, (attribute,)):
                return _Cell((), None)
        self.evaluations += 1
        line = _line(bean, attribute, entry)
        waiting: list[Rule] = []
        for rule in self._file.rules:
            pattern = rule.pattern
            if pattern is None:
                return _Cell(tuple(waiting), self._series(rule, line, None))
            head = line.head(snake=rule.snake_case)
            if rule.cached or pattern.steady:
                groups = pattern.match(f"{head}: {'<cache>' if rule.cached else ''}")
                if groups is not None:
                    return _Cell(tuple(waiting), self._series(rule, line, groups))
            elif pattern.gate is None or pattern.gate.match(f"{head}: ") is not None:
                waiting.append(rule)
        return _Cell(tuple(waiting), None)

    def _evaluate(self, cell: _Cell, line: _Line, value: Scalar) -> Series | None:
        """Return the result for this value."""
        self.evaluations += 1
        text = _printed(value)
        for rule in cell.open:
            groups = rule.pattern.match(f"{line.head(snake=rule.snake_case)}: {text}") if rule.pattern is not None else None
            if groups is not None:
                return self._series(rule, line, groups)
        return cell.settled

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


def _entries(value: Attribute) -> Mapping[str, Attribute]:
    return value if isinstance(value, Mapping) else {}


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
