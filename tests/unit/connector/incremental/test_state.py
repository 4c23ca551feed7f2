"""Which tables an incremental snapshot still has to read, how far it is, and how the offset holds that."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.incremental.state import Collection, IncrementalSnapshot, Place, filters_of, literal_name, wanted_collections
from connector.signals.signal import Condition, ExecuteSnapshot
from tests.support.each_case import each_case

KNOWN = ["public.a1", "public.a2", "public.b", "sales.a1", "Sch.ema.T"]
PREFIX = "incremental_snapshot_"


def read_key(stored: str) -> tuple[str | None, ...] | None:
    if stored == "bad":
        raise ValueError("it is of another class")
    return None if stored == "null" else tuple(stored.split(","))


def names(collections: Sequence[str], known: Sequence[str] = KNOWN) -> list[str]:
    found, warnings = wanted_collections(ExecuteSnapshot("s", tuple(collections)), known)
    assert not warnings
    return [collection.name for collection in found]


@each_case(
    ("collections", "expected"),
    [
        (["public.b", "public.a1"], ["public.b", "public.a1"]),
        (["public.a."], ["public.a1", "public.a2"]),
        ([".*a1"], ["public.a1", "sales.a1"]),
        (["public.a1", "public.a.", "public.a1"], ["public.a1", "public.a2"]),
        (['"public"."b"', "shop.public.b"], ["public.b"]),
        (["Sch.ema.T"], ["Sch.ema.T"]),
        (["public.none"], ["public.none"]),
        (["PUBLIC.B"], ["PUBLIC.B"]),
    ],
)
def test_an_entry_is_a_pattern_or_a_name(collections: list[str], expected: list[str]) -> None:
    assert names(collections) == expected


def test_a_pattern_that_is_none_is_warned_of_and_the_others_are_read() -> None:
    found, warnings = wanted_collections(ExecuteSnapshot("s", ("public.(", "public.b")), KNOWN)
    assert [collection.name for collection in found] == ["public.b"]
    assert len(warnings) == 1


def test_a_name_that_is_no_pattern_is_taken_literally_when_a_table_has_it() -> None:
    known = ["\\N.\\N", "[a-z]+(.[a-z]+("]
    assert names(['"\\N"."\\N"', '"[a-z]+("."[a-z]+("'], known) == known


def test_the_size_in_the_offset_is_known_before_tables_are_taken() -> None:
    state = running("public.a")
    more = [Collection(f"public.n{number}", '("x" > 1)') for number in range(100)]
    wanted = state.stored_size(more, "s2")
    assert state.names == ["public.a"]
    state.add(more, "s2")
    assert wanted == len(orjson.dumps(state.to_offset("")))


def test_the_first_condition_that_names_the_table_counts() -> None:
    conditions = (Condition("public.b", "id > 1"), Condition("public.*", "id > 2"), Condition("(", "id > 3"))
    assert filters_of(conditions, ["public.b", "public.a1", "sales.a1"]) == {"public.b": "id > 1", "public.a1": "id > 2"}
    assert filters_of((Condition('"public"."b"', "x"),), ["public.b"]) == {"public.b": "x"}
    action = ExecuteSnapshot("s", ("public.b", "sales.a1"), conditions=conditions, surrogate_key="v")
    found, _ = wanted_collections(action, KNOWN)
    assert found == [Collection("public.b", "(id > 1)", "v"), Collection("sales.a1", None, "v")]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [("public.a", "public.a"), ("db.public.a", "public.a"), ('"p.q"."a"', "p.q.a"), ("a", "a"), ("a.b.c.d", "a.b.c.d")],
)
def test_a_name_without_quotes_and_database(entry: str, expected: str) -> None:
    assert literal_name(entry) == expected


def running(*tables: str) -> IncrementalSnapshot:
    state = IncrementalSnapshot()
    assert state.add([Collection(name) for name in tables], "s1") is True
    return state


def test_tables_that_come_meanwhile_wait_at_the_end_and_the_newest_id_counts() -> None:
    state = running("public.a")
    state.position = state.maximum = Place(("3",), "3")
    assert state.add([Collection("public.b"), Collection("public.a")], "s2") is False
    assert (state.names, state.correlation_id) == (["public.a", "public.b", "public.a"], "s2")
    assert state.position == Place(("3",), "3")


def test_the_next_table_begins_at_its_beginning() -> None:
    state = running("public.a", "public.b")
    state.position = state.maximum = Place(("3",), "3")
    assert state.next_collection() is True
    offset = state.to_offset("null")
    assert (state.names, offset[f"{PREFIX}primary_key"], offset[f"{PREFIX}maximum_key"]) == (["public.b"], "null", "null")
    state.paused = True
    assert state.next_collection() is False
    assert (state.running, state.paused, state.correlation_id) == (False, False, None)


@pytest.mark.parametrize(
    ("entries", "removed", "left", "place_kept"),
    [
        ([], ["public.a", "public.b", "sales.a"], [], False),
        (["public.a"], ["public.a"], ["public.b", "sales.a"], False),
        (["public.b"], ["public.b"], ["public.a", "sales.a"], True),
        ([".*a"], ["public.a", "sales.a"], ["public.b"], False),
        (["public.none"], [], ["public.a", "public.b", "sales.a"], True),
        (["public.("], [], ["public.a", "public.b", "sales.a"], True),
    ],
)
def test_stopping_takes_tables_off(entries: list[str], removed: list[str], left: list[str], place_kept: bool) -> None:
    state = running("public.a", "public.b", "sales.a")
    state.position = state.maximum = Place(("3",), "3")
    assert state.stop(entries) == removed
    assert state.names == left
    assert (state.position is not None) is place_kept
    assert state.running is bool(left)


def test_the_offset_has_the_reference_s_members() -> None:
    state = running("public.a")
    state.collections[0] = Collection("public.a", "(id > 2)", "v")
    assert state.to_offset("null") == {
        f"{PREFIX}primary_key": "null",
        f"{PREFIX}maximum_key": "null",
        f"{PREFIX}correlation_id": "s1",
        f"{PREFIX}collections": orjson.dumps(
            [
                {
                    f"{PREFIX}collections_id": "public.a",
                    f"{PREFIX}collections_additional_condition": "(id > 2)",
                    f"{PREFIX}collections_surrogate_key": "v",
                }
            ]
        ).decode(),
    }
    assert IncrementalSnapshot().to_offset("null") == {}


PLACES = st.one_of(st.none(), st.lists(st.from_regex(r"[0-9]{1,5}", fullmatch=True), min_size=1, max_size=3).map(tuple))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
COLLECTIONS = st.lists(
    st.builds(
        Collection,
        st.from_regex(r"[a-z]{1,5}\.[A-Za-z ]{1,5}", fullmatch=True),
        st.one_of(st.none(), TEXTS),
        st.one_of(st.none(), TEXTS),
    ),
    min_size=1,
    max_size=4,
)


@given(collections=COLLECTIONS, position=PLACES, maximum=PLACES, correlation=st.one_of(st.none(), TEXTS))
def test_what_the_offset_holds_is_gone_on_with(
    collections: list[Collection], position: tuple[str, ...] | None, maximum: tuple[str, ...] | None, correlation: str | None
) -> None:
    state = IncrementalSnapshot()
    state.add(collections, "s")
    state.correlation_id = correlation
    state.position = None if position is None else Place(position, ",".join(position))
    state.maximum = None if maximum is None else Place(maximum, ",".join(maximum))
    again = IncrementalSnapshot()
    stored = orjson.loads(orjson.dumps({"lsn": 1, **state.to_offset("null")}))
    assert again.load(stored, read_key) is None
    assert again.collections == collections
    assert again.correlation_id == correlation
    assert again.to_offset("null") == state.to_offset("null")


@pytest.mark.parametrize("offset", [{}, {"lsn": 5}, {f"{PREFIX}collections": None}, {f"{PREFIX}collections": "[]"}])
def test_an_offset_without_tables_starts_nothing(offset: dict[str, object]) -> None:
    state = IncrementalSnapshot()
    assert state.load(offset, read_key) is None
    assert not state.running


@pytest.mark.parametrize("listed", ["{", "[1]", '[{"x": 1}]', "1", '[{"incremental_snapshot_collections_id": 5}]'])
def test_tables_that_cannot_be_read_are_warned_of(listed: str) -> None:
    state = IncrementalSnapshot()
    warning = state.load({f"{PREFIX}collections": listed}, read_key)
    assert warning is not None
    assert f"{PREFIX}collections" in warning
    assert not state.running


def test_a_place_that_cannot_be_read_starts_its_table_over() -> None:
    state = running("public.a", "public.b")
    stored = {**state.to_offset("null"), f"{PREFIX}primary_key": "3", f"{PREFIX}maximum_key": "bad"}
    again = IncrementalSnapshot()
    warning = again.load(stored, read_key)
    assert warning is not None
    assert "public.a" in warning
    assert (again.names, again.position, again.maximum) == (["public.a", "public.b"], None, None)
