"""What makes of a mirror's columns those that its table has now. Pure.

PostgreSQL tells nothing of a change of columns but the columns of the next event. It keeps a column's place when it renames
it and puts every new one at the end (PostgreSQL manual, ALTER TABLE), so places tell what names do not:

- a name in front of a column that was there before cannot be new. It is the new name of one that vanished from the same gap:
  certain when as many appeared there as vanished, else taken where the types leave only one choice;
- behind the last column that was there before, what vanished was dropped and what appeared was added, though it may have been
  renamed: there the two cannot be told apart;
- a column that moved behind ones that used to follow it was dropped and added again, and so was what stands behind it now, unless
  one of them is of the key: then the table was made anew in another order, and they stay;
- a table that was dropped and made anew with other columns is taken for one that was changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workers.spark.tables.table import Column, Table


@dataclass(frozen=True, slots=True)
class Rename:
    """The column ``old`` is called ``new`` now."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Drop:
    """The column is no longer there."""

    name: str


@dataclass(frozen=True, slots=True)
class Add:
    """A new column behind ``after`` (None: in front of all). Rows that are there get its default, PostgreSQL does so without events."""

    column: Column
    after: str | None


@dataclass(frozen=True, slots=True)
class Retype:
    """The column, already by its new name, holds ``old`` and is to hold what ``column`` says."""

    column: Column
    old: object


Step = Rename | Drop | Add | Retype
TypeOf = Callable[[Column], object]


def allowed(wanted: Sequence[Step], table: Table, *, drop_columns: bool) -> list[Step]:
    """The steps without the drops of columns that the table no longer has, unless these are to go."""
    stay = set() if drop_columns else {step.name for step in wanted if isinstance(step, Drop)} - {column.name for column in table.columns}
    return [step for step in wanted if not (isinstance(step, Drop) and step.name in stay)]


def kind_type(column: Column) -> object:
    """The Spark type of the column's kind."""
    return column.kind.type


def steps(old: Sequence[tuple[str, object]], new: Table, type_of: TypeOf = kind_type) -> list[Step]:
    """The steps from the columns ``old`` (name and type, in order, without the mirror's own) to those of ``new``.

    Types are compared with what ``type_of`` answers for a column. See :func:`one_by_one` for steps that are not taken in one commit.
    """
    wanted = {column.name: column for column in new.columns}
    places = {name: place for place, (name, _) in enumerate(old)}
    common = [column.name for column in new.columns if column.name in places]
    ordered = _ordered([places[name] for name in common])
    stays, behind = common[:ordered], set(common[ordered:])
    again = set() if behind & set(new.key) else behind
    renames: dict[str, str] = {}
    for vanished, appeared in _gaps(old, new, stays):
        renames |= _pairs(vanished, [(column.name, type_of(column)) for column in appeared])
    found: list[Step] = [Rename(name, renames[name]) for name, _ in old if name in renames]
    # From the last one: the first is what tells that those behind it are new, should a crash come in between.
    found += [Drop(name) for name in reversed(common) if name in again]
    known = {renames.get(name, name): of for name, of in old if name in renames or (name in wanted and name not in again)}
    for before, column in zip([None, *new.columns], new.columns, strict=False):
        if column.name not in known:
            found.append(Add(column, None if before is None else before.name))
    found += [Drop(name) for name, _ in old if name not in renames and name not in wanted]
    found += [Retype(wanted[name], of) for name, of in known.items() if of != type_of(wanted[name])]
    return found


def steps_along(
    old: Sequence[tuple[str, object]], path: Sequence[Table], type_of: TypeOf = kind_type, *, extras: bool = False
) -> list[Step]:
    """The steps from the columns ``old`` through the tables of ``path``, oldest first, to the last of them.

    What the events showed on the way tells what its ends alone do not: two renames with a new column between them. Columns that are the
    last table's already have taken the way before a crash; with ``extras`` others, which were to stay, may stand behind them.
    """
    wanted = [column.name for column in path[-1].columns]
    names = [name for name, _ in old]
    if (names[: len(wanted)] if extras else names) == wanted:
        return steps(old, path[-1], type_of)
    found: list[Step] = []
    shape = list(old)
    for table in path:
        for step in steps(shape, table, type_of):
            found.append(step)
            shape = _taken(shape, step, type_of)
    return found


def one_by_one(old: Sequence[tuple[str, object]], path: Sequence[Table], found: Sequence[Step], type_of: TypeOf = kind_type) -> bool:
    """Whether the steps may be taken in commits of their own: after each, what is there asks for just the rest of them.

    Where a gap left a choice, a part of the steps could make the rest look like a rename; such steps belong into one commit.
    """
    shape = list(old)
    for taken, step in enumerate(found, 1):
        shape = _taken(shape, step, type_of)
        if steps_along(shape, path, type_of) != list(found[taken:]):
            return False
    return True


def _taken(shape: Sequence[tuple[str, object]], step: Step, type_of: TypeOf) -> list[tuple[str, object]]:
    match step:
        case Rename(old, new):
            return [(new if name == old else name, of) for name, of in shape]
        case Drop(gone):
            return [(name, of) for name, of in shape if name != gone]
        case Add(column, after):
            place = next((at for at, (name, _) in enumerate(shape, 1) if name == after), 0)
            return [*shape[:place], (column.name, type_of(column)), *shape[place:]]
        case Retype(column):
            return [(name, type_of(column) if name == column.name else of) for name, of in shape]


def _ordered(places: Sequence[int]) -> int:
    """How many of the old places, in their new order, come before the first that went behind one it used to stand in front of."""
    return next((at for at in range(1, len(places)) if places[at] < places[at - 1]), len(places))


def _gaps(old: Sequence[tuple[str, object]], new: Table, stays: Sequence[str]) -> list[tuple[list[tuple[str, object]], list[Column]]]:
    """What vanished and what appeared in front of each column that stays; these are in the same order in both."""
    there, known, gaps = {name for name, _ in old}, {column.name for column in new.columns}, []
    before, after = list(old), list(new.columns)
    for name in stays:
        gap_old: list[tuple[str, object]] = []
        while before[0][0] != name:
            gap_old.append(before.pop(0))
        gap_new: list[Column] = []
        while after[0].name != name:
            gap_new.append(after.pop(0))
        before.pop(0)
        after.pop(0)
        vanished = [(one, of) for one, of in gap_old if one not in known]
        gaps.append((vanished, [column for column in gap_new if column.name not in there]))
    return gaps


def _pairs(vanished: Sequence[tuple[str, object]], appeared: Sequence[tuple[str, object]]) -> dict[str, str]:
    """Old names to new ones, order kept: all when they are as many, else those that equal types leave no choice about."""
    if len(vanished) == len(appeared):
        return {old: new for (old, _), (new, _) in zip(vanished, appeared, strict=True)}
    if _choices([of for _, of in vanished], [of for _, of in appeared]) != 1:
        return {}
    pairs, rest = {}, list(vanished)
    for name, of in appeared:
        while rest[0][1] != of:
            rest.pop(0)
        pairs[rest.pop(0)[0]] = name
    return pairs


def _choices(longer: Sequence[object], shorter: Sequence[object]) -> int:
    """In how many ways ``shorter`` is found in ``longer`` in order; 0 for an empty one."""
    ways = [1] + [0] * len(shorter)
    for one in longer:
        for place in range(len(shorter), 0, -1):
            if shorter[place - 1] == one:
                ways[place] += ways[place - 1]
    return ways[-1] if shorter else 0
