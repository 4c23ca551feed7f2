"""From a mirror's columns to its table's: which steps, and that they are safe to repeat from anywhere. No Spark is started."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.each_case import each_case

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from hypothesis import given, settings
from hypothesis import strategies as st

from workers.spark.tables.evolution import Add, Drop, Rename, Retype, Step, allowed, kind_type, one_by_one, steps, steps_along
from workers.spark.tables.table import Again, Column, Table
from workers.spark.types import Kind, kind_of

KINDS = {"i": kind_of({"type": "int32"}), "l": kind_of({"type": "int64"}), "t": kind_of({"type": "string"})}
Shape = Sequence[tuple[str, object]]


def kind(letter: str) -> Kind:
    return KINDS[letter]


def table(text: str, *key: str) -> Table:
    """``a:i b:t`` as a table's columns."""
    return Table("s", "t", tuple(Column(name, kind(of)) for name, _, of in (part.partition(":") for part in text.split())), key)


def old(text: str) -> list[tuple[str, object]]:
    return [(column.name, column.kind.type) for column in table(text).columns]


def reported(found: Sequence[Step]) -> list[str]:
    words = []
    for step in found:
        match step:
            case Rename(was, new):
                words.append(f"{was}>{new}")
            case Drop(name):
                words.append(f"-{name}")
            case Add(column, after):
                words.append(f"+{column.name}@{after}")
            case Retype(column):
                words.append(f"~{column.name}")
    return words


@each_case(
    ("before", "after", "wanted"),
    [
        ("a:i b:t", "a:i b:t", []),
        ("a:i b:t", "a:i b:t c:i d:i", ["+c@b", "+d@c"]),
        ("a:i b:t c:t", "a:i c:t", ["-b"]),
        ("a:i b:t c:t", "a:i x:t c:t", ["b>x"]),
        ("a:i b:t c:t", "x:i b:t c:t", ["a>x"]),
        # As many as vanished: the type was changed as well.
        ("a:i b:t c:t", "a:i x:i c:t", ["b>x", "~x"]),
        ("a:i b:t c:t d:t", "a:i x:t y:t d:t", ["b>x", "c>y"]),
        # Fewer: the types tell, or nothing does.
        ("a:i b:t c:i d:t", "a:i x:i d:t", ["c>x", "-b"]),
        ("a:i b:t c:t d:t", "a:i x:t d:t", ["+x@a", "-b", "-c"]),
        # More than vanished: a column that was left out of the events is in them now.
        ("a:i d:t", "a:i x:t d:t", ["+x@a"]),
        ("a:i b:t d:t", "a:i x:t y:t d:t", ["+x@a", "+y@x", "-b"]),
        # Behind all others a rename is no different from a drop and an add.
        ("a:i b:t", "a:i c:t", ["+c@a", "-b"]),
        ("a:i b:t", "a:i", ["-b"]),
        # Behind columns that used to follow it: dropped and added again.
        ("a:i b:t c:t", "a:i c:t b:t", ["-b", "+b@c"]),
        ("a:i b:t c:t", "a:i c:i b:t", ["-b", "+b@c", "~c"]),
        ("a:i b:t c:t", "b:t a:i c:t", ["-c", "-a", "+a@b", "+c@a"]),
        ("a:i b:t", "a:l b:i", ["~a", "~b"]),
        ("a:i", "b:i", ["+b@None", "-a"]),
        ("", "a:i", ["+a@None"]),
    ],
)
def test_steps(before: str, after: str, wanted: list[str]) -> None:
    assert reported(steps(old(before), table(after))) == wanted


@pytest.mark.parametrize(
    ("before", "after", "apart"),
    [
        ("a:i b:t c:t", "a:i x:t c:t d:i", True),
        ("a:i b:t c:t", "b:t a:i c:t", True),
        ("a:i b:t c:t d:i", "a:l c:t", True),
        ("a:i", "b:i c:i", True),
        # With x there, b would seem to be y.
        ("a:i b:t d:t", "a:i x:t y:t d:t", False),
    ],
)
def test_steps_that_belong_together(before: str, after: str, apart: bool) -> None:
    assert one_by_one(old(before), [table(after)], steps(old(before), table(after))) == apart


@pytest.mark.parametrize(
    ("before", "path", "wanted"),
    [
        # Another column is added after the last one. Then both are renamed.
        ("a:i b:l", ["a:i b:l c:t", "a:i x:l c:t", "a:i x:l c:t d:i", "a:i x:l y:t d:i"], ["+c@b", "b>x", "+d@c", "c>y"]),
        ("a:i b:l", ["a:i x:l c:t"], ["+x@a", "+c@x", "-b"]),
        # A column goes, and another one takes its name.
        ("a:i b:t c:t", ["a:i c:t", "a:i b:t"], ["-b", "+b@a", "-c"]),
        ("a:i b:t c:t d:i", ["a:i c:t d:i", "a:i b:t d:i"], ["-b", "c>b"]),
        # All of it has been done already.
        ("a:i x:l y:t d:i", ["a:i b:l c:t", "a:i x:l y:t d:i"], []),
        ("a:i x:l", ["a:i b:i", "a:i x:t"], ["~x"]),
    ],
)
def test_steps_along_what_the_events_showed(before: str, path: list[str], wanted: list[str]) -> None:
    assert reported(steps_along(old(before), [table(one) for one in path])) == wanted


def test_kept_columns_follow_the_added_ones() -> None:
    path = [table("a:i b:l c:t"), table("a:i x:l c:t")]
    assert reported(steps_along(old("a:i x:l c:t gone:i"), path, extras=True)) == ["-gone"]
    assert reported(steps_along(old("a:i b:l gone:i"), path, extras=True)) == ["+c@b", "-gone", "b>x"]


@pytest.mark.parametrize(
    ("before", "former", "path", "wanted"),
    [
        # b was dropped earlier and is kept: x is the new name of a.
        ("id:i a:t b:t c:t", "id:i a:t c:t", ["id:i x:t c:t"], ["a>x", "-b"]),
        ("id:i x:t b:t c:t", "id:i a:t c:t", ["id:i x:t c:t"], ["-b"]),
        ("id:i a:t b:t c:t", "id:i a:t c:t", ["id:i x:t c:t", "id:i y:t c:t"], ["a>x", "x>y", "-b"]),
        # It is there again.
        ("id:i a:t b:t c:t", "id:i a:t c:t", ["id:i a:t c:t b:t"], ["-b", "+b@c"]),
        # Unknown: nothing tells which of them has the new name.
        ("id:i a:t b:t c:t", None, ["id:i x:t c:t"], ["+x@id", "-a", "-b"]),
    ],
)
def test_column_that_was_dropped_earlier_gets_no_new_name(before: str, former: str | None, path: list[str], wanted: list[str]) -> None:
    tables, known = [table(one) for one in path], None if former is None else table(former)
    found = steps_along(old(before), tables, extras=True, former=known)
    assert reported(found) == wanted
    assert one_by_one(old(before), tables, found, former=known)


@each_case(
    ("before", "former", "path", "wanted"),
    [
        # x was dropped in an earlier batch, stayed, and is there again: at its place, elsewhere, with another type.
        ("id:i y:t x:t", "id:i y:t", ["id:i y:t x:t"], ["-x", "+x@y"]),
        ("id:i x:t y:t", "id:i y:t", ["id:i y:t x:t"], ["-x", "+x@y"]),
        ("id:i y:t x:t", "id:i y:t", ["id:i y:t x:i"], ["-x", "+x@y"]),
        # Only the forms of one batch show it.
        ("id:i y:t x:t", None, ["id:i y:t", "id:i y:t x:t"], ["-x", "+x@y"]),
        ("id:i y:t x:t", None, ["id:i y:t", "id:i y:t x:t", "id:i z:t x:t"], ["-x", "+x@y", "y>z"]),
        # A renamed column is not a new one, also after a crash.
        ("id:i x:t c:i", "id:i a:t c:i", ["id:i x:t c:i"], []),
        ("id:i x:t c:i d:i", "id:i a:t c:i", ["id:i a:t c:i d:i", "id:i x:t c:i d:i"], ["-d", "+d@c"]),
        ("id:i y:t", "id:i y:t", ["id:i y:t n:t"], ["+n@y"]),
        ("id:i y:t", None, ["id:i y:t", "id:i y:t n:t"], ["+n@y"]),
    ],
)
def test_column_that_comes_back_is_a_new_one(before: str, former: str | None, path: list[str], wanted: list[str]) -> None:
    tables, known = [table(one) for one in path], None if former is None else table(former)
    found = steps_along(old(before), tables, extras=former is not None, former=known, again=Again.CLEARED)
    assert reported(found) == wanted
    assert one_by_one(old(before), tables, found, former=known, again=Again.CLEARED) or "-x" in wanted or "-d" in wanted


@each_case(
    ("before", "former", "path", "wanted"),
    [
        ("id:i y:t x:t", "id:i y:t", ["id:i y:t x:t"], []),
        ("id:i x:t y:t", "id:i y:t", ["id:i y:t x:t"], []),
        ("id:i y:t x:t", "id:i y:t", ["id:i y:t x:i"], ["~x"]),
        ("id:i b:t c:t", "id:i b:t c:t", ["id:i c:t b:t"], []),
        # It is back at its former place in the history, not in the source.
        ("id:i b:t c:t", "id:i c:t b:t", ["id:i z:t b:t"], ["c>z"]),
        ("id:i b:t c:t", "id:i c:t b:t", ["id:i c:t b:t d:i"], ["+d@b"]),
        ("id:i y:t x:t", "id:i y:t x:t", ["id:i y:t", "id:i y:t x:t"], []),
        ("id:i y:t x:t", "id:i y:t x:t", ["id:i y:t"], ["-x"]),
    ],
)
def test_history_keeps_a_column_that_comes_back(before: str, former: str, path: list[str], wanted: list[str]) -> None:
    tables = [table(one) for one in path]
    found = steps_along(old(before), tables, extras=True, former=table(former), again=Again.KEPT)
    assert reported(found) == wanted
    assert one_by_one(old(before), tables, found, former=table(former), again=Again.KEPT)


def test_dropped_columns_are_allowed_to_stay() -> None:
    wanted = table("a:i c:t b:t")
    found = steps(old("a:i b:t c:t d:t"), wanted)
    assert reported(allowed(found, wanted, drop_columns=True)) == ["-b", "+b@c", "-d"]
    assert reported(allowed(found, wanted, drop_columns=False)) == ["-b", "+b@c"]


def test_key_stays_where_it_moves() -> None:
    assert reported(steps(old("id:i a:t b:t"), table("a:t id:i b:t", "id"))) == []


def test_types_are_those_of_the_place() -> None:
    assert reported(steps([("a", "integer")], table("a:i"), lambda column: {"int": "integer"}[column.kind.type.simpleString()])) == []
    assert reported(steps([("a", "text")], table("a:i"), lambda _: "integer")) == ["~a"]


def taken(shape: Shape, step: Step) -> list[tuple[str, object]]:
    match step:
        case Rename(was, new):
            assert new not in dict(shape)
            return [(new if name == was else name, of) for name, of in shape]
        case Drop(gone):
            assert gone in dict(shape)
            return [(name, of) for name, of in shape if name != gone]
        case Add(column, after):
            assert column.name not in dict(shape)
            place = 0 if after is None else [name for name, _ in shape].index(after) + 1
            return [*shape[:place], (column.name, kind_type(column)), *shape[place:]]
        case Retype(column, was):
            assert (column.name, was) in list(shape)
            return [(name, kind_type(column) if name == column.name else of) for name, of in shape]


shapes = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("ilt")), max_size=6, unique_by=lambda pair: pair[0]).map(
    lambda pairs: " ".join(f"{name}:{of}" for name, of in pairs)
)


@settings(deadline=None)
@given(shapes, shapes, st.integers(0, 12), st.sampled_from(["", "a", "b"]))
def test_steps_lead_to_the_table_from_every_intermediate_step(before: str, after: str, crash: int, key: str) -> None:
    wanted, shape = table(after, key), old(before)
    first = steps(shape, wanted)
    for step in first[:crash]:
        shape = taken(shape, step)
    assert not one_by_one(old(before), [wanted], first) or steps(shape, wanted) == first[crash:]
    for step in first[crash:]:
        shape = taken(shape, step)
    assert sorted(shape, key=str) == sorted(old(after), key=str)
    # A table that was created again in another order keeps its old order.
    assert key or shape == old(after)


@settings(deadline=None)
@given(shapes, st.lists(shapes, min_size=1, max_size=3), st.integers(0, 20))
def test_steps_along_a_path_lead_to_its_end_from_every_intermediate_step(before: str, texts: list[str], crash: int) -> None:
    path, shape = [table(text) for text in texts], old(before)
    first = steps_along(shape, path)
    for step in first[:crash]:
        shape = taken(shape, step)
    assert not one_by_one(old(before), path, first) or steps_along(shape, path) == first[crash:]
    for step in first[crash:]:
        shape = taken(shape, step)
    assert shape == old(texts[-1])


@settings(deadline=None)
@given(shapes, st.lists(shapes, min_size=1, max_size=3), st.integers(0, 20))
def test_steps_with_cleared_columns_lead_to_the_table_too(before: str, texts: list[str], crash: int) -> None:
    path, shape = [table(text) for text in texts], old(before)
    first = steps_along(shape, path, again=Again.CLEARED)
    for step in first[: crash if one_by_one(old(before), path, first, again=Again.CLEARED) else 0]:
        shape = taken(shape, step)
    for step in steps_along(shape, path, again=Again.CLEARED):
        shape = taken(shape, step)
    assert shape == old(texts[-1])
