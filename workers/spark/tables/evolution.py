"""Computes the steps from a mirror's columns to its table's present columns. Pure.

Only the columns of the next event show that a table's columns have changed. PostgreSQL keeps a column's place when it renames the
column, and adds new columns at the end (PostgreSQL manual, ALTER TABLE). So the order of columns shows more than their names:

- A new name before an existing column is the new name of a column that is missing from the same gap. This is certain if the gap has as
  many new names as missing ones. Otherwise it is assumed if the types leave only one choice.
- After the last existing column, a missing column was dropped and a new name was added. A rename there cannot be distinguished from this.
- A column that now follows columns which used to follow it was dropped and added again, and so were the columns after it. If one of
  them belongs to the key, the table was created again in another order, and the columns stay.
- A table that was dropped and created again with other columns is treated as a changed table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workers.spark.tables.table import Again, Column, Table


@dataclass(frozen=True, slots=True)
class Rename:
    """The column ``old`` has the new name ``new``."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Drop:
    """The table no longer has the column."""

    name: str


@dataclass(frozen=True, slots=True)
class Add:
    """A new column after ``after`` (None: first). Existing rows get its default, as in PostgreSQL, which sends no events for them."""

    column: Column
    after: str | None


@dataclass(frozen=True, slots=True)
class Retype:
    """The column, under its new name, has the type ``old`` and must get the type of ``column``."""

    column: Column
    old: object


Step = Rename | Drop | Add | Retype
TypeOf = Callable[[Column], object]


def allowed(wanted: Sequence[Step], table: Table, *, drop_columns: bool) -> list[Step]:
    """The steps, without drops of columns unless ``drop_columns`` is set."""
    stay = set() if drop_columns else {step.name for step in wanted if isinstance(step, Drop)} - {column.name for column in table.columns}
    return [step for step in wanted if not (isinstance(step, Drop) and step.name in stay)]


def kind_type(column: Column) -> object:
    """The Spark type of the column's kind."""
    return column.kind.type


def steps(old: Sequence[tuple[str, object]], new: Table, type_of: TypeOf = kind_type) -> list[Step]:
    """The steps from the columns ``old`` (name and type, in order, without the mirror's own) to those of ``new``.

    Types are compared with ``type_of`` of a column. See :func:`one_by_one` for steps that are not made in one commit.
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
    # The last column is dropped first: after a crash in between, the first one still shows that those after it are new.
    found += [Drop(name) for name in reversed(common) if name in again]
    known = {renames.get(name, name): of for name, of in old if name in renames or (name in wanted and name not in again)}
    for before, column in zip([None, *new.columns], new.columns, strict=False):
        if column.name not in known:
            found.append(Add(column, None if before is None else before.name))
    found += [Drop(name) for name, _ in old if name not in renames and name not in wanted]
    found += [Retype(wanted[name], of) for name, of in known.items() if of != type_of(wanted[name])]
    return found


def steps_along(
    old: Sequence[tuple[str, object]],
    path: Sequence[Table],
    type_of: TypeOf = kind_type,
    *,
    extras: bool = False,
    former: Table | None = None,
    again: Again = Again.SHOWN,
) -> list[Step]:
    """The steps from the columns ``old`` through the tables of ``path``, oldest first, to the last of them.

    The tables in between show changes that the two ends alone do not, such as two renames with a new column between them. If ``old`` has
    the last table's names already, these steps were taken before a crash. With ``extras``, columns that the mirror keeps may follow them.

    Columns that neither ``former`` (the table's form before, if it is known) nor ``path`` has were dropped earlier. They are dropped last
    and are not taken for the former names of new columns.

    ``again`` decides about columns that were dropped and added again. With :attr:`Again.CLEARED`, steps that were taken before a crash are
    taken again if they add a column: only the batch that is repeated can have given it other values than the default.
    """
    if again is Again.KEPT:
        return _keeping(old, path, type_of, extras=extras, former=former)
    if again is Again.CLEARED and (fresh := _added(old, path, type_of, extras=extras, former=former)):
        rest = [one for one in old if one[0] not in fresh]
        left = [column.name for column in path[-1].columns if column.name not in fresh]
        direct = [name for name, _ in rest][: len(left)] == left
        then = steps(rest, path[-1], type_of) if direct else steps_along(rest, path, type_of, extras=extras, former=former)
        return [*(Drop(name) for name, _ in reversed(old) if name in fresh), *then]
    known = {column.name for table in (*path, former or path[-1]) for column in table.columns}
    gone: list[Step] = [Drop(name) for name, _ in old if former is not None and name not in known]
    if gone:
        return [*steps_along([one for one in old if one[0] in known], path, type_of, extras=extras), *gone]
    if _has_names(old, path[-1], extras=extras):
        return steps(old, path[-1], type_of)
    found: list[Step] = []
    shape = list(old)
    for table in path:
        for step in steps(shape, table, type_of):
            found.append(step)
            shape = _taken(shape, step, type_of)
    return found


def one_by_one(
    old: Sequence[tuple[str, object]],
    path: Sequence[Table],
    found: Sequence[Step],
    type_of: TypeOf = kind_type,
    *,
    former: Table | None = None,
    again: Again = Again.SHOWN,
) -> bool:
    """Whether each step may have its own commit: after each one, the present columns lead to the remaining steps.

    With :attr:`Again.CLEARED` they may also lead to some of the steps once more.

    If a gap left a choice, some of the steps could make the others look like a rename; such steps need one commit.
    """
    shape, rule = list(old), Again.KEPT if again is Again.KEPT else Again.SHOWN
    for taken, step in enumerate(found, 1):
        shape = _taken(shape, step, type_of)
        if steps_along(shape, path, type_of, former=former, again=rule) != list(found[taken:]):
            return False
    return True


def _has_names(old: Sequence[tuple[str, object]], table: Table, *, extras: bool) -> bool:
    wanted, names = [column.name for column in table.columns], [name for name, _ in old]
    return (names[: len(wanted)] if extras else names) == wanted


def _added(
    old: Sequence[tuple[str, object]], path: Sequence[Table], type_of: TypeOf, *, extras: bool, former: Table | None
) -> frozenset[str]:
    """The columns of ``old`` that the source added since ``former``, or else since the first form of ``path``.

    Without ``former``, the forms before the last one show the other cases: a column that they lack is dropped on the way.
    """
    if former is None and not _has_names(old, path[-1], extras=extras):
        return frozenset()
    first, *later = path if former is None else (former, *path)
    shape, added = [(column.name, type_of(column)) for column in first.columns], set[str]()
    for table in later:
        for step in steps(shape, table, type_of):
            shape = _taken(shape, step, type_of)
            match step:
                case Rename(was, new) if was in added:
                    added = {*added - {was}, new}
                case Drop(name):
                    added.discard(name)
                case Add(column):
                    added.add(column.name)
    return frozenset(added & {name for name, _ in old})


def _keeping(
    old: Sequence[tuple[str, object]], path: Sequence[Table], type_of: TypeOf, *, extras: bool, former: Table | None
) -> list[Step]:
    """The steps without those that drop a column and add it again. Such columns stay at their former places."""
    types = dict(old)
    order = [] if former is None else [column.name for column in former.columns]
    shape = list(old)
    if order and all(name in types for name in order):
        names = {column.name for table in path for column in table.columns}
        # The source's order, which shows renames. A column that comes back is not there until the steps add it.
        shape = [*((name, types[name]) for name in order), *(one for one in old if one[0] not in order and one[0] not in names)]
    found = steps_along(shape, path, type_of, extras=extras, former=former)
    renamed = {name for step in found if isinstance(step, Rename) for name in (step.old, step.new)}
    back = {step.column.name: step.column for step in found if isinstance(step, Add) and step.column.name in types}
    back = {name: column for name, column in back.items() if name not in renamed}
    kept = [step for step in found if not (isinstance(step, Add) and step.column.name in back)]
    kept = [step for step in kept if not (isinstance(step, Drop) and step.name in back)]
    last = {column.name: column for column in path[-1].columns}
    kept = [step for step in kept if not (isinstance(step, Retype) and step.column.name in back)]
    return [*kept, *(Retype(last[name], types[name]) for name in back if name in last and types[name] != type_of(last[name]))]


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
    """How many of the old places, in their new order, precede the first one that moved after a place that it used to precede."""
    return next((at for at in range(1, len(places)) if places[at] < places[at - 1]), len(places))


def _gaps(old: Sequence[tuple[str, object]], new: Table, stays: Sequence[str]) -> list[tuple[list[tuple[str, object]], list[Column]]]:
    """The columns that are missing and those that appeared before each column that stays. These have the same order in both."""
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
    """Old name → new name, in order: all if the numbers are equal, else those for which equal types leave only one choice."""
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
    """The number of ways in which ``shorter`` is a subsequence of ``longer``; 0 for an empty one."""
    ways = [1] + [0] * len(shorter)
    for one in longer:
        for place in range(len(shorter), 0, -1):
            if shorter[place - 1] == one:
                ways[place] += ways[place - 1]
    return ways[-1] if shorter else 0
