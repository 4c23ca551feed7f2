"""Arrow finds the rows of Parquet files that have a key of a batch; without Spark's session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import DataType, IntegerType, LongType, ShortType, StringType

from workers.spark.sinks.delta import key_search
from workers.spark.sinks.delta.key_bounds import BoundedColumn
from workers.spark.sinks.delta.key_search import KeySearch, keys_of_texts

Key = tuple[Any, ...]


def search(kinds: Sequence[DataType], keys: Sequence[Key]) -> KeySearch:
    columns = [BoundedColumn(f"c{at}", of) for at, of in enumerate(kinds)]
    texts = [[str(value) for value in key] for key in keys]
    return KeySearch(columns, keys_of_texts(columns, texts), sorted(columns[0].bound(text[0]) for text in texts))


def found(one: KeySearch, path: Path) -> list[int]:
    return sorted(one.rows(path, one.groups(path)))


def written(path: Path, columns: dict[str, pa.Array], rows_of_a_group: int = 1000) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=rows_of_a_group)
    return path


@given(st.data())
def test_rows_are_those_with_a_key(data: st.DataObject) -> None:
    texts = st.text(st.characters(codec="utf-8", exclude_characters="\ufffd"), max_size=3)
    values = {StringType(): texts, LongType(): st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)}
    kinds = data.draw(st.lists(st.sampled_from(list(values)), min_size=1, max_size=3))
    key = st.tuples(*(values[kind] for kind in kinds))
    keys = data.draw(st.lists(key, min_size=1, max_size=8, unique=True))
    rows = data.draw(st.lists(key | st.sampled_from(keys) | st.tuples(*(st.none() | values[kind] for kind in kinds)), max_size=30))
    batch = pa.record_batch(
        [pa.array(column, pa.string() if isinstance(kind, StringType) else pa.int64()) for kind, *column in zip(kinds, *rows, strict=True)],
        names=[f"c{at}" for at in range(len(kinds))],
    )
    places = search(kinds, keys).places(batch)
    assert sorted(places) == [at for at, row in enumerate(rows) if row in keys]


def test_groups_without_a_key_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_search, "_BATCH", 7)
    numbers = pa.array(range(100), pa.int64())
    path = written(tmp_path / "f", {"b": pa.array(["x"] * 100), "c0": numbers, "c1": pa.array([f"{at}" for at in range(100)])}, 20)
    one = search([LongType(), StringType()], [(5, "5"), (6, "5"), (19, "19"), (60, "60"), (99, "99"), (100, "100"), (-1, "x")])
    groups = one.groups(path).groups
    assert [(group.number, group.first, group.rows) for group in groups] == [(0, 0, 20), (3, 60, 20), (4, 80, 20)]
    assert all(group.octets > 0 for group in groups)
    assert found(one, path) == [5, 19, 60, 99]
    assert not search([LongType()], [(100,)]).groups(path).groups


def test_groups_of_texts_are_chosen_by_their_bytes(tmp_path: Path) -> None:
    # By its letters in UTF-16 the last text would be before the one before it.
    texts = ["", "a", "z", "ä", "\uff5e", "\U0001f600"]
    path = written(tmp_path / "f", {"c0": pa.array(texts)}, 2)
    for at, text in enumerate(texts):
        one = search([StringType()], [(text,)])
        assert [group.first for group in one.groups(path).groups] == [at // 2 * 2]
        assert found(one, path) == [at]
    assert not found(search([StringType()], [("b",)]), path)


@pytest.mark.parametrize("of", [pa.int16(), pa.int32(), pa.int64()])
def test_numbers_of_older_files_are_narrower(tmp_path: Path, of: pa.DataType) -> None:
    path = written(tmp_path / "f", {"c0": pa.array([-(2**15), None, 2**15 - 1], of)})
    for kind in (ShortType(), IntegerType(), LongType()):
        assert found(search([kind], [(2**15 - 1,), (2**40,), (-(2**15),)]), path) == [0, 2]


def test_files_without_statistics_are_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"c0": pa.array([1, 2, 3])}), tmp_path / "f", write_statistics=False)
    assert found(search([LongType()], [(3,)]), tmp_path / "f") == [2]


@pytest.mark.parametrize(
    "columns",
    [{"c1": pa.array([1])}, {"c0": pa.array([1.0])}, {"c0": pa.array(["1"])}, {"c0": pa.array([{"a": 1}])}],
    ids=["no such column", "floating", "text", "struct"],
)
def test_other_files_are_refused(tmp_path: Path, columns: dict[str, pa.Array]) -> None:
    path = written(tmp_path / "f", columns)
    with pytest.raises((ValueError, TypeError)):
        found(search([LongType()], [(1,)]), path)


def test_a_file_that_is_not_there_or_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"no")
    for name in ("f", "g"):
        with pytest.raises((OSError, pa.ArrowException)):
            search([LongType()], [(1,)]).groups(tmp_path / name)


def test_a_text_that_may_stand_for_another_one_is_refused() -> None:
    for text in ("\ufffd", "half a pair: \ud83d"):
        with pytest.raises(UnicodeError):
            search([StringType()], [(text,)])
