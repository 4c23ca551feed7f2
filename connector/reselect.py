"""Columns that are read again from their table because an event would not show their value (Debezium's reselect post processor).

As recorded: only ``after`` of streamed events is completed, never a read; a value counts as missing when it was not sent or is
NULL, and a NULL that the column's default stands in for is not missing. What is read is the row as it is now, which may be
younger than the event. The record's key stays as it was. Different on purpose, because the reference shows it in plain text or
fails: a masked column is masked when it was read again too, and columns of the key may be of any type or left out of the event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from connector.config_keys.post_processors import ReselectRule
from connector.encoders import EventColumn
from connector.filters import TABLE_DOTS
from connector.name_matcher import LongForm, Matcher, include_exclude
from connector.pgoutput import UNCHANGED
from connector.ports import Backtracking, no_backtracking
from connector.schema import NO_DEFAULT
from connector.table import CatalogTable


@dataclass(frozen=True, slots=True)
class Reread:
    """A row to read again: the places of the columns wanted, and the key's columns with the texts to find it by.

    Without ``key`` there is nothing to find it by; ``strict`` tells that its event fails when it is not found.
    """

    table: CatalogTable
    columns: tuple[int, ...]
    key: tuple[tuple[str, bytes], ...]
    strict: bool
    rule: str
    """The post processor's name."""


class Reselection:
    """What one rule reads again of one table. Immutable, like the encoder that it belongs to."""

    __slots__ = ("_columns", "_key", "_rule", "_table")

    def __init__(self, rule: ReselectRule, table: CatalogTable, columns: Sequence[tuple[int, bool, bool]], key: Sequence[int]) -> None:
        """``columns``: place, wanted when not sent, wanted when NULL; ``key``: places of the columns to find a row by."""
        self._rule = rule
        self._table = table
        self._columns = tuple(columns)
        self._key = tuple(key)

    def wanted(self, cells: Sequence[bytes | None], sent: Sequence[bytes | None]) -> Reread | None:
        """What to read for the row ``cells``, or None; the row is found by the values that were ``sent``."""
        columns = tuple(at for at, unsent, null in self._columns if (null and cells[at] is None) or (unsent and cells[at] is UNCHANGED))
        if not columns:
            return None
        key = [(self._table.columns[at].name, sent[at]) for at in self._key]
        known = tuple((name, cell) for name, cell in key if cell is not None and cell is not UNCHANGED)
        return Reread(self._table, columns, known if len(known) == len(key) else (), self._rule.strict, self._rule.name)


class Reselector:
    """The rules of one connector. CdcError(CONFIG_INVALID) for a pattern that cannot be used."""

    def __init__(self, rules: Sequence[ReselectRule], database: str = "", backtrack: Backtracking = no_backtracking) -> None:
        # A column's name comes after a colon there.
        self._rules = [(rule, _selector(rule, LongForm(database, TABLE_DOTS), backtrack)) for rule in rules]

    def __bool__(self) -> bool:
        """There are rules."""
        return bool(self._rules)

    def of(
        self,
        table: CatalogTable,
        columns: Sequence[EventColumn],
        key: Sequence[str],
        placeholder: Callable[[EventColumn], bool],
    ) -> tuple[Reselection, ...]:
        """What is read again of ``table``, whose events hold ``columns`` and whose records have the ``key``.

        ``placeholder`` tells whether a column shows the placeholder as it is where no value was sent. Records without a key are
        let be, as recorded.
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
    """Whether the column is read again when its value was not sent, and when it is NULL."""
    shown = event.schema.default not in (NO_DEFAULT, None) or (event.mask is not None and event.mask.constant is not None)
    null = rule.nulls and not event.not_null and not shown
    if event.codec.unavailable is None and event.codec.cell_value is None:
        # Such types show null for what was not sent.
        return null, null
    return rule.unavailable and placeholder, null


def _selector(rule: ReselectRule, long_form: LongForm, backtrack: Backtracking) -> Matcher:
    key = f"{rule.name}.reselect.columns"
    return include_exclude(rule.include, rule.exclude, key, long_form=long_form, backtrack=backtrack)
