"""Shapes of JSON payloads: one shape, one schema, and a compiled check that never takes a payload of another shape."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connector.transforms.debezium.outbox.json_payload import PayloadSchemas, Unexpandable
from connector.transforms.debezium.outbox.payload_shape import NoShapeError, is_plain, shape_check, shape_of

MOST = 2.0**63 - 1024
"""The highest double below int64's end."""
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([-(2**31) - 1, -(2**31), 2**31 - 1, 2**31, -(2**63), 2**63 - 1]),
    st.floats(-MOST, MOST),
    st.sampled_from([0.0, -0.0, 1e-3, 9999999.0, 9.99e-4, 1e7, 5e-324, MOST]),
    st.text(max_size=3),
)
NAMES = st.sampled_from(["a", "b", "c'", "{0}", "value1"])
NODES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)


@given(NODES, NODES)
@example([1, 2], [1, 2, 3])
@example([], [1])
@example({}, {"a": 1})
@example({"a": 1, "b": 2}, {"b": 2, "a": 1})
@example([[1], []], [[], [1]])
@example(1, True)
@example(1, 2**31)
@example(1, 1.0)
@example([1], [2**31])
def test_the_check_of_a_shape_takes_only_payloads_of_it(one: Any, other: Any) -> None:
    fits = shape_check(shape_of(one))
    assert fits(one)
    assert not fits(other) or shape_of(other) == shape_of(one)


@given(NODES)
def test_a_check_takes_every_payload_of_its_shape_but_some_with_arrays_of_other_lengths(node: Any) -> None:
    changed = _other_values(node)
    assert shape_of(changed) == shape_of(node)
    assert shape_check(shape_of(node))(changed)


def _other_values(node: Any) -> Any:
    """The node with other values in the same places; elements of arrays that are alike twice."""
    if isinstance(node, dict):
        return {name: _other_values(member) for name, member in node.items()}
    if isinstance(node, list):
        members = [_other_values(member) for member in node]
        return members * 2 if len({shape_of(member) for member in members}) == 1 else members
    if isinstance(node, bool):
        return not node
    if isinstance(node, int):
        return node - 1 if node in (2**63 - 1, 2**31 - 1, -(2**31) - 1) else node + 1
    return f"{node}x" if isinstance(node, str) else node


@given(NODES, NODES)
@example([1, 2], [1])
def test_payloads_of_one_shape_have_one_schema(one: Any, other: Any) -> None:
    if shape_of(one) == shape_of(other):
        assert _schema(one) == _schema(other)


@given(NODES)
def test_other_values_change_no_schema(node: Any) -> None:
    assert _schema(node) == _schema(_other_values(node))


def _schema(node: Any) -> object:
    schemas = PayloadSchemas(keeps_nulls=False, names_nested_arrays_null=False, keeps_empty_arrays=True)
    try:
        return schemas.schema("payload", node)
    except Unexpandable:
        return Unexpandable


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2.0**63, -(2.0**63), 1e300, float("inf"), float("-inf"), float("nan")])
def test_a_number_beyond_the_types_has_no_shape_and_fits_none(number: float) -> None:
    with pytest.raises(NoShapeError):
        shape_of(number)
    assert not any(shape_check(shape_of(other))(number) for other in (1, 2**40, 1.5, 1e18))


@pytest.mark.parametrize("number", [1e7, -1e7, 9.99e-4, 5e-324, MOST])
def test_a_double_that_java_writes_with_an_exponent_makes_a_shape_of_its_own(number: float) -> None:
    for node in (number, [1.5, number], [number, number], {"a": {"e": number}}):
        assert not is_plain(shape_of(node))
    assert shape_of({"a": number}) != shape_of({"a": 1.5})
    assert not shape_check(shape_of({"a": 1.5}))({"a": number})
    assert not shape_check(shape_of({"a": number}))({"a": 1.5})


@pytest.mark.parametrize("node", [{"e": 1.5, "f": ["e"]}, [], {}, [0.0, -0.0, 1e-3], 9999999.0])
def test_other_payloads_are_written_as_they_were_parsed(node: Any) -> None:
    assert is_plain(shape_of(node))
