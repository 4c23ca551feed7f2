"""Signals: three texts become an action, or are refused in one sentence."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.catalog.identifiers import split_name
from connector.signals.signal import (
    Action,
    Condition,
    CustomSignal,
    ExecuteSnapshot,
    LogMessage,
    PauseSnapshot,
    ResumeSnapshot,
    SchemaChanges,
    Signal,
    SignalError,
    StopSnapshot,
    WindowClose,
    WindowOpen,
    read_signal,
    source_signal,
)
from tests.support.each_case import each_case


def read(kind: str, data: object = None, *, signal_id: str = "s") -> Action:
    text = data if isinstance(data, str) or data is None else json.dumps(data)
    return read_signal(Signal(signal_id, kind, text), frozenset({"mine"}))


@each_case(
    ("kind", "data", "expected"),
    [
        ("execute-snapshot", {"data-collections": ["public.a"]}, ExecuteSnapshot("s", ("public.a",))),
        ("execute-snapshot", {"data-collections": [" public.a ", "", "b", "public.a"]}, ExecuteSnapshot("s", ("public.a", "b"))),
        ("execute-snapshot", {"data-collections": ["a"], "type": "INCREMENTAL"}, ExecuteSnapshot("s", ("a",))),
        ("execute-snapshot", {"data-collections": ["a"], "type": "Blocking"}, ExecuteSnapshot("s", ("a",), blocking=True)),
        ("execute-snapshot", {"data-collections": ["a"], "type": "Spark"}, ExecuteSnapshot("s", ("a",), blocking=True, bulk=True)),
        ("execute-snapshot", {"data-collections": ["a"], "surrogate-key": " v "}, ExecuteSnapshot("s", ("a",), surrogate_key="v")),
        ("execute-snapshot", {"data-collections": ["a"], "surrogate-key": " "}, ExecuteSnapshot("s", ("a",))),
        ("execute-snapshot", {"data-collections": ["a"], "surrogate-key": 5}, ExecuteSnapshot("s", ("a",))),
        ("execute-snapshot", {"data-collections": ["a"], "type": 5}, ExecuteSnapshot("s", ("a",))),
        ("execute-snapshot", {"data-collections": ["a"], "type": [["x"]]}, ExecuteSnapshot("s", ("a",))),
        ("execute-snapshot", {"data-collections": ["a"], "type": None}, ExecuteSnapshot("s", ("a",))),
        ("execute-snapshot", {"data-collections": ["a"], "additional-conditions": "x"}, ExecuteSnapshot("s", ("a",))),
        ("execute-snapshot", '/* c */ {"data-collections": ["a"]} // d', ExecuteSnapshot("s", ("a",))),
        ("execute-snapshot", '// c\n{"data-collections": ["a"], "x": "one\nline /* more"}', ExecuteSnapshot("s", ("a",))),
        ("execute-snapshot", '{"data-collections": ["a"]} and more', ExecuteSnapshot("s", ("a",))),
        (
            "execute-snapshot",
            {"data-collections": ["a"], "additional-conditions": [{"data-collection": "a", "filter": "x"}]},
            ExecuteSnapshot("s", ("a",), conditions=(Condition("a", "x"),)),
        ),
        (
            "execute-snapshot",
            {"data-collections": ["a"], "additional-conditions": [{"data-collection": "a", "filter": "  "}]},
            ExecuteSnapshot("s", ("a",)),
        ),
        ("stop-snapshot", None, StopSnapshot()),
        ("stop-snapshot", "", StopSnapshot()),
        ("stop-snapshot", {"data-collections": []}, StopSnapshot()),
        ("stop-snapshot", {"data-collections": [" ", "a"]}, StopSnapshot(("a",))),
        ("stop-snapshot", {"type": "incremental", "data-collections": ["a"]}, StopSnapshot(("a",))),
        ("pause-snapshot", "  ", PauseSnapshot()),
        ("resume-snapshot", {}, ResumeSnapshot()),
        ("log", {"message": "at {}"}, LogMessage("at {}")),
        (
            "schema-changes",
            {"database": "db", "changes": [{"id": '"db"."pub.lic"."a"'}, {"id": "public.b"}]},
            SchemaChanges((("pub.lic", "a"), ("public", "b"))),
        ),
        ("snapshot-window-open", None, WindowOpen("s")),
        ("snapshot-window-close", None, WindowClose("s")),
    ],
)
def test_a_signal_is_read(kind: str, data: object, expected: Action) -> None:
    assert read(kind, data) == expected


def test_watermarks_bear_their_chunk_s_id() -> None:
    assert read("snapshot-window-open", '{"openWindowTimestamp": "x"}', signal_id="c-open") == WindowOpen("c")
    assert read("snapshot-window-close", signal_id="c-close") == WindowClose("c")


def test_an_installed_type_gets_its_data() -> None:
    found = read("mine", {"x": 1})
    assert isinstance(found, CustomSignal)
    assert (found.signal.id, found.data) == ("s", {"x": 1})


@each_case(
    ("kind", "data"),
    [
        ("EXECUTE-SNAPSHOT", {"data-collections": ["a"]}),
        ("", None),
        ("execute-snapshot", None),
        ("execute-snapshot", "{"),
        ("execute-snapshot", "[]"),
        ("execute-snapshot", '"text"'),
        ("execute-snapshot", {"data-collections": []}),
        ("execute-snapshot", {"data-collections": [" "]}),
        ("execute-snapshot", {"data-collections": "a"}),
        ("execute-snapshot", {"data-collections": [1]}),
        ("execute-snapshot", {"data-collections": ["a"], "type": "other"}),
        ("execute-snapshot", {"data-collections": ["a"], "type": ""}),
        ("execute-snapshot", {"data-collections": ["a"], "type": " incremental "}),
        ("execute-snapshot", {"data-collections": ["a", None]}),
        ("execute-snapshot", {"data-collections": ["a"], "additional-conditions": [{"data-collection": "a", "filter": 1}]}),
        ("execute-snapshot", '{"data-collections": ["a"], "x": NaN}'),
        ("execute-snapshot", '{"data-collections": ["a"],}'),
        ("execute-snapshot", "{'data-collections': ['a']}"),
        ("execute-snapshot", '{"data-collections": ["\\ud800"]}'),
        ("execute-snapshot", "null"),
        ("execute-snapshot", {"data-collections": ["a"], "additional-conditions": ["x"]}),
        ("execute-snapshot", {"data-collections": ["a"], "additional-conditions": [{"filter": "x"}]}),
        ("stop-snapshot", {"type": "blocking"}),
        ("stop-snapshot", {"data-collections": "a"}),
        ("stop-snapshot", {"data-collections": [""]}),
        ("stop-snapshot", {"data-collections": [" ", ""]}),
        ("log", None),
        ("log", {"message": ""}),
        ("log", {"message": 1}),
        ("schema-changes", {"changes": []}),
        ("schema-changes", {"database": "db", "changes": {}}),
        ("schema-changes", {"database": "db", "changes": [{"id": "a"}]}),
        ("schema-changes", {"database": "db", "changes": ["a"]}),
        ("mine", "{"),
    ],
)
def test_a_signal_that_cannot_be_understood_is_refused_in_a_sentence(kind: str, data: object) -> None:
    with pytest.raises(SignalError) as reported:
        read(kind, data)
    assert str(reported.value)
    assert "\n" not in str(reported.value)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        pytest.param("execute-snapshot", {"data-collections": [f"n{number}" for number in range(100_000)]}, id="100,000 tables"),
        pytest.param("execute-snapshot", f'{{"data-collections": ["a"], "x": "{"x" * 50_000_000}"}}', id="50 MB"),
        pytest.param("execute-snapshot", f'{{"data-collections": {"[" * 5000}{"]" * 5000}}}', id="deep lists"),
        pytest.param("execute-snapshot", '{"a": ' * 5000 + "1" + "}" * 5000, id="deep objects"),
        pytest.param("execute-snapshot", {"data-collections": ["a"], "type": "x" * 50_000}, id="a long type of snapshot"),
        pytest.param("x" * 50_000_000, None, id="a long type"),
    ],
)
def test_a_huge_signal_is_refused_in_a_short_sentence(kind: str, data: object) -> None:
    with pytest.raises(SignalError) as reported:
        read(kind, data)
    assert 0 < len(str(reported.value)) < 400


def test_data_may_be_nested_as_deep_as_the_reference_reads_it() -> None:
    data = f'{{"data-collections": ["a"], "x": {"[" * 900}{"]" * 900}}}'
    assert read("execute-snapshot", data) == ExecuteSnapshot("s", ("a",))


def test_half_of_a_surrogate_pair_as_id_is_refused() -> None:
    with pytest.raises(SignalError, match="surrogate"):
        read("pause-snapshot", signal_id="\ud800")


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=5), st.sampled_from(["incremental", "blocking", "a.b"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["data-collections", "type", "additional-conditions", "filter", "data-collection", "message", "changes", "id"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@given(
    kind=st.sampled_from(["execute-snapshot", "stop-snapshot", "pause-snapshot", "resume-snapshot", "log", "schema-changes", "mine", "x"]),
    data=st.one_of(JSON.map(json.dumps), st.text(max_size=10)),
)
def test_nothing_but_a_refusal_comes_of_any_data(kind: str, data: str) -> None:
    with contextlib.suppress(SignalError):
        read(kind, data)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.b", ("a", "b")),
        ('"a.b"."c"', ("a.b", "c")),
        ('"a""b".c', ('a"b', "c")),
        ("a", ("a",)),
        ("", ()),
        ("a..b", ("a", "", "b")),
        ('"open', ("open",)),
    ],
)
def test_a_dotted_name_has_parts(text: str, parts: tuple[str, ...]) -> None:
    assert [part for part in split_name(text) if part or "." in text] == list(parts)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=4))
def test_quoted_parts_come_back(parts: list[str]) -> None:
    text = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
    assert split_name(text) == tuple(parts)


def test_a_row_of_the_signal_table_is_a_signal_by_its_places() -> None:
    assert source_signal([b"s", b"log", b'{"message": "x"}']) == Signal("s", "log", '{"message": "x"}')
    assert source_signal([b"s", None, None]) == Signal("s", "", None)


def test_bytes_of_a_database_without_an_encoding_are_refused() -> None:
    with pytest.raises(SignalError, match="no UTF-8"):
        source_signal([b"s", b"log", b"\xff"])


@pytest.mark.parametrize("cells", [[], [b"s", b"log"], [b"s", b"log", None, None]])
def test_a_signal_table_of_other_columns_is_refused(cells: list[bytes | None]) -> None:
    with pytest.raises(SignalError):
        source_signal(cells)
