"""What the columns of an event are called in the catalog of later."""

from __future__ import annotations

import pytest

from tests.support.each_case import each_case

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from workers.spark.source.present_names import Place, present_names
from workers.spark.tables.table import Column
from workers.spark.types import kind_of

KINDS = {"i": kind_of({"type": "int32"}), "t": kind_of({"type": "string"})}


def columns(text: str) -> list[Column]:
    return [Column(name, KINDS[of]) for name, _, of in (part.partition(":") for part in text.split())]


def places(text: str) -> list[Place]:
    """``a:i - b:t`` with ``-`` for a dropped column."""
    return [Place(None) if part == "-" else Place(part[:-2], KINDS[part[-1]].type) for part in text.split()]


@each_case(
    ("event", "catalog", "wanted"),
    [
        ("a:i b:t", "a:i b:t", "a>a b>b"),
        ("a:i b:t", "a:i b:t c:t", "a>a b>b"),
        ("a:i b:t c:t", "a:i - c:t", "a>a c>c"),
        # A type that changes says nothing of a name that stays.
        ("a:i b:t", "a:i b:i", "a>a b>b"),
        ("a:i b:t c:t", "a:i x:t c:t", "a>a b>x c>c"),
        ("a:i b:t c:t", "x:i y:t c:t", "a>x b>y c>c"),
        # The last one too: what was added later is behind it.
        ("a:i b:t", "a:i x:t c:t", "a>a b>x"),
        ("a:i b:t", "x:i y:t c:t", "a>x b>y"),
        ("a:i b:t", "a:i x:t - c:t", "a>a b>x"),
        # A column that was dropped earlier, between two that have their names, is none of the event's.
        ("a:i b:t c:t", "a:i - x:t c:t", "a>a b>x c>c"),
        ("a:i b:t c:t", "a:i x:t - c:t", "a>a b>x c>c"),
        # Either b was dropped, or a column before it was.
        ("a:i b:t", "a:i - x:t", "a>a"),
        ("a:i b:t c:t d:t", "a:i - x:t d:t", "a>a d>d"),
        ("a:i b:t c:t d:t", "a:i x:t - d:t", "a>a b>x d>d"),
        # The event lacks e.
        ("a:i c:t", "a:i e:i c:t", "a>a c>c"),
        ("a:i b:t c:t", "a:i e:i c:t", "a>a c>c"),
        ("a:i b:t", "a:i e:i x:t", "a>a"),
        # Dropped and added again, or in another order by a transform: names alone.
        ("a:i b:t c:t", "a:i - c:t b:t", "a>a b>b c>c"),
        ("c:t b:t a:i", "a:i x:t c:t", "c>c a>a"),
        ("a:i b:t", "", ""),
    ],
)
def test_renamed_columns_are_found_by_their_place(event: str, catalog: str, wanted: str) -> None:
    found = present_names(columns(event), places(catalog))
    assert found == dict(pair.split(">") for pair in wanted.split())
