"""Columns that are read again from their table because an event lacks their value (Debezium's reselect post processor).

As recorded from Debezium: only ``after`` of streamed events is completed, never that of a read event. A value is missing if it was not sent
(TOAST) or is NULL, unless the column's default replaces the NULL. The row is read as it is now, so it may be newer than the event. The
record's key does not change. There are two deliberate differences. A masked column that is read again is masked, while Debezium shows its
plain text. Columns of the key may have any type and need not be part of the event, while Debezium fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from connector.catalog.filters import TABLE_DOTS
from connector.catalog.name_matcher import LongForm, Matcher, include_exclude
from connector.catalog.table import CatalogTable
from connector.config.keys.post_processors import ReselectRule
from connector.events.encoders import EventColumn
from connector.ports import Backtracking, no_backtracking
from connector.record.schema import NO_DEFAULT
from connector.wire.pgoutput import UNCHANGED


@dataclass(frozen=True, slots=True)
class Reread:
    """A row to read again: the places of the columns to read, and the names and texts of the key columns that identify the row.

    If ``key`` is empty, the row cannot be identified. ``strict``: the event fails if the row is not found.
    """

    table: CatalogTable
    columns: tuple[int, ...]
    key: tuple[tuple[str, bytes], ...]
    strict: bool
    rule: str
    """The post processor's name."""


class Reselection:
    """The columns of one table that one rule reads again. Immutable, like the encoder that it belongs to."""

    __slots__ = ("_columns", "_key", "_rule", "_table")

    def __init__(self, rule: ReselectRule, table: CatalogTable, columns: Sequence[tuple[int, bool, bool]], key: Sequence[int]) -> None:
        """``columns`` holds, for each column, its place, and whether to read it when its value was not sent and when it is NULL.

        ``key`` holds the places of the columns that identify a row.
        """
        self._rule = rule
        self._table = table
        self._columns = tuple(columns)
        self._key = tuple(key)

    def wanted(self, cells: Sequence[bytes | None], sent: Sequence[bytes | None]) -> Reread | None:
        """Return what to read for the row ``cells``, or None. The values that the server ``sent`` identify the row."""
        columns = tuple(at for at, unsent, null in self._columns if (null and cells[at] is None) or (unsent and cells[at] is UNCHANGED))
        if not columns:
            return None
        key = [(self._table.columns[at].name, sent[at]) for at in self._key]
        known = tuple((name, cell) for name, cell in key if cell is not None and cell is not UNCHANGED)
        return Reread(self._table, columns, known if len(known) == len(key) else (), self._rule.strict, self._rule.name)


class Reselector:
    """The rules of one connector.

    Raises CdcError(CONFIG_INVALID) for a pattern that cannot be used.
    """

    def __init__(self, rules: Sequence[ReselectRule], database: str = "", backtrack: Backtracking = no_backtracking) -> None:
        # In these patterns a colon precedes the column.
        self._rules = [(rule, _selector(rule, LongForm(database, TABLE_DOTS), backtrack)) for rule in rules]

    def __bool__(self) -> bool:
        """Return whether there are rules."""
        return bool(self._rules)

    def of(
        self,
        table: CatalogTable,
        columns: Sequence[EventColumn],
        key: Sequence[str],
        placeholder: Callable[[EventColumn], bool],
    ) -> tuple[Reselection, ...]:
        """Return the rules that apply to ``table``, whose events hold ``columns`` and whose records have the key ``key``.

        ``placeholder`` says whether events show the placeholder itself for a value of the column that was not sent. As recorded, records
        without a key are never completed.
        """
        if not key:
            return ()
        places = {column.name: at for at, column in enumerate(table.columns)}
        found = []
        for rule, selects in self._rules:
            chosen = [
                (event.index, *_missing(rule, event, placeholder(event)))
                for event in columns
                if selects(f"{table.name}:{table.columns[event.index].name}")
            ]
            wanted = [entry for entry in chosen if entry[1] or entry[2]]
            names = key if rule.event_key else table.primary_key or table.unique_key
            if wanted:
                found.append(Reselection(rule, table, wanted, [places[name] for name in names]))
        return tuple(found)


def _missing(rule: ReselectRule, event: EventColumn, placeholder: bool) -> tuple[bool, bool]:
    """Return whether the column is read again when its value was not sent, and when it is NULL."""
    shown = event.schema.default not in (NO_DEFAULT, None) or (event.mask is not None and event.mask.constant is not None)
    null = rule.nulls and not event.not_null and not shown
    if event.codec.unavailable is None and event.codec.cell_value is None:
        # Events show null for a missing value of such a type. A column that is NOT NULL must not show anything but its value.
        return rule.unavailable if event.not_null else null, null
    return rule.unavailable and placeholder, null


def _selector(rule: ReselectRule, long_form: LongForm, backtrack: Backtracking) -> Matcher:
    key = f"{rule.name}.reselect.columns"
    return include_exclude(rule.include, rule.exclude, key, long_form=long_form, backtrack=backtrack)
