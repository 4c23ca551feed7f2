"""Cuts records of JsonConverter in Python, as :mod:`workers.spark.topics.records` does it in Spark's tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson
import pyarrow as pa
from pyspark.sql import SparkSession

from workers.spark.topics.range_reader import Place, Records
from workers.spark.topics.records import NEW_KEY, OLD_KEY

Hash = Callable[[bytes, int], int]
"""XXH64 of bytes with a seed, as a signed number."""
SEED: Final = 42
"""Spark's seed of ``xxhash64``."""
_HEAD: Final = b'{"schema":'
_SEAM: Final = b'},"payload":'
_IMAGES: Final = ("after", "before")
_MOVED: Final = {OLD_KEY, NEW_KEY}
_KEPT: Final = 10_000
"""The most hashes that are kept."""


class NotCut(Exception):  # noqa: N818 - a condition, which callers handle
    """A record of ``topic`` is not JSON, or its schema is in another place than JsonConverter's. Spark must cut the records."""

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.topic: Final = topic


class _Odd(Exception):  # noqa: N818 - the same
    """The record."""


class PythonCut:
    """Cuts records. It remembers the hashes of schemas."""

    def __init__(self, hashed: Hash) -> None:
        self._hash: Final = hashed
        self._layouts: Final[dict[bytes | tuple[str, ...], int]] = {}
        self._schemas: Final[dict[int, str]] = {}

    def schema(self, layout: int | None) -> str | None:
        """The embedded schema of a layout that has been cut; None for another one."""
        return None if layout is None else self._schemas.get(layout)

    def part(self, place: Place, records: Records) -> pa.Table:
        """The cut records of a part of a partition. Raises NotCut."""
        topic, partition = place
        names = [{name for name, _ in one.headers} & _MOVED if one.headers else () for one in records]
        try:
            layouts, values = self._side([one.value for one in records])
            key_layouts, keys = self._side([one.key for one in records])
        except (_Odd, UnicodeDecodeError, pa.ArrowInvalid, orjson.JSONDecodeError) as error:
            raise NotCut(topic) from error
        return pa.table(
            {
                "topic": pa.repeat(pa.scalar(topic), len(records)),
                "partition": pa.repeat(pa.scalar(partition, pa.int32()), len(records)),
                "offset": pa.array([one.offset for one in records], pa.int64()),
                "timestamp": pa.array([one.timestamp * 1000 for one in records], pa.timestamp("us", "UTC")),
                "layout": layouts,
                "value": values,
                "key_layout": key_layouts,
                "key": keys,
                "came": pa.array([OLD_KEY in one for one in names], pa.bool_()),
                "left": pa.array([NEW_KEY in one for one in names], pa.bool_()),
            }
        )

    def _side(self, octets: Sequence[bytes | None]) -> tuple[pa.Array, pa.Array]:
        """The layouts and the payloads of values, or of keys."""
        layouts: list[int | None] = []
        texts: list[bytes | None] = []
        head: bytes | None = None
        size = layout = 0
        for text in octets:
            if text is None:
                layouts.append(None)
                texts.append(None)
                continue
            # Most records have the schema of the one before. This compares bytes, which takes a tenth of a search.
            if head is None or not text.startswith(head):
                at = text.find(_SEAM) if text.startswith(_HEAD) else -1
                if at < 0:
                    payload, names = _bare(text)
                    layouts.append(self._named(names))
                    texts.append(payload)
                    continue
                size = at + len(_SEAM)
                head, layout = text[:size], self._of(text[:at])
            payload = text[size:-1]
            layouts.append(layout)
            texts.append(None if payload == b"null" else payload)
        return pa.array(layouts, pa.int64()), pa.array(texts, pa.large_binary()).cast(pa.large_string())

    def _of(self, head: bytes) -> int:
        """The layout of records that begin with this text, up to the seam."""
        found = self._layouts.get(head)
        if found is None:
            schema = f"{head[len(_HEAD) :].decode()}}}"
            found = self._learned(head, self._hash(head, SEED))
            self._schemas[found] = schema
        return found

    def _named(self, names: tuple[str, ...] | None) -> int:
        """The layout of JSON without a schema whose columns have these names: Spark's hash of an array. Null has its seed."""
        if names is None:
            return SEED
        found = self._layouts.get(names)
        if found is not None:
            return found
        layout = SEED
        for name in names:
            layout = self._hash(name.encode(), layout)
        return self._learned(names, layout)

    def _learned(self, what: bytes | tuple[str, ...], layout: int) -> int:
        if len(self._layouts) >= _KEPT:
            self._layouts.clear()
            self._schemas.clear()
        self._layouts[what] = layout
        return layout


def _bare(text: bytes) -> tuple[bytes | None, tuple[str, ...] | None]:
    """The payload of JSON without a schema before it, and its columns' names."""
    if text == b"null":
        return None, None
    found = orjson.loads(text)
    # With blanks, or with the schema at the end, Spark parses it. It also looks into texts.
    if not isinstance(found, dict) or "schema" in found or any(isinstance(found.get(side), str) for side in _IMAGES):
        raise _Odd
    return text, tuple(next((found[side] for side in _IMAGES if isinstance(found.get(side), dict)), found))


def java_hash(session: SparkSession) -> Hash:
    """Spark's own hash."""
    java: Any = session.sparkContext._jvm  # noqa: SLF001 - no function of PySpark hashes a value without a query
    # The class has a static method of the same name. Py4J finds it only if Java lists it before the other one, in an order that varies.
    seeded = java.org.apache.spark.sql.catalyst.expressions.XXH64
    start = int(java.org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET)
    return lambda octets, seed: int(seeded(seed).hashUnsafeBytes(bytearray(octets), start, len(octets)))
