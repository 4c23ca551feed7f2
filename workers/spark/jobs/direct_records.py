"""Reads the records of a batch in Python: those which Spark's stream has given the batch, from Kafka itself."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
from aiokafka.errors import KafkaError, OffsetOutOfRangeError

from workers.spark.fallback import Fallbacks
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.topics.arrow_records import ArrowRecords
from workers.spark.topics.cut_records import Hash, NotCut, PythonCut
from workers.spark.topics.range_reader import Place, RangeReader, Ranges, Records

_LOG: Final = logging.getLogger(__name__)
PAUSE: Final = 20
"""So many batches are Spark's after Kafka could not be read here."""


SAMPLE: Final = 1_000
"""So many records of a topic tell how long its others are."""


class _TooLarge(Exception):  # noqa: N818 - a condition, which is handled here
    """The records have too many bytes."""


class _Size:
    """The bytes of the records in ``ranges``: those that have been read, and what the others of their topics probably have."""

    def __init__(self, ranges: Ranges) -> None:
        self._left: Final = Counter[str]()
        for (topic, _), (begin, end) in ranges.items():
            self._left[topic] += end - (begin or 0)
        self._read: Final = Counter[str]()
        self._octets: Final = Counter[str]()

    def add(self, topic: str, part: pa.Table) -> None:
        """Count records of a topic that have been read."""
        self._left[topic] -= len(part)
        self._read[topic] += len(part)
        self._octets[topic] += part.nbytes

    @property
    def octets(self) -> int:
        """The bytes."""
        known = (topic for topic, records in self._read.items() if records >= SAMPLE and self._left[topic] > 0)
        return self._octets.total() + sum(self._octets[topic] * self._left[topic] // self._read[topic] for topic in known)


class DirectRecords:
    """Reads the batches of the stream of ``checkpoint``. ``settings`` are the client's, and ``hashed`` is Spark's hash."""

    def __init__(self, hashed: Hash, checkpoint: Checkpoint, settings: Mapping[str, Any]) -> None:
        self._checkpoint: Final = checkpoint
        self._reader: Final = RangeReader(settings)
        self._cut: Final = PythonCut(hashed)
        self._others: Final[set[str]] = set()
        """Topics of which a record had another form. Spark reads all of their batches."""
        self._fallbacks: Final = Fallbacks("The reading of records", "Spark's tasks read them")
        self._until = 0
        """The first batch that is read here after a failure."""

    def of(self, batch: int, octets: int) -> ArrowRecords | None:
        """The cut records of the batch; None if Spark must read them, or if their payloads and keys have more bytes than ``octets``."""
        ranges = self._checkpoint.ranges(batch)
        if not ranges or batch < self._until or any(topic in self._others for topic, _ in ranges):
            return None
        parts: list[pa.Table] = []
        size = _Size(ranges)

        def take(place: Place, records: Records) -> None:
            parts.append(self._cut.part(place, records))
            size.add(place[0], parts[-1])
            if size.octets > octets:
                raise _TooLarge

        try:
            self._reader.read(ranges, take)
        except NotCut as found:
            self._others.add(found.topic)
            _LOG.warning("Topic %s has a record that is not JSON as JsonConverter writes it: Spark's tasks read its batches", found.topic)
            return None
        except (_TooLarge, OffsetOutOfRangeError):
            return None
        except (KafkaError, OSError, TimeoutError) as error:
            self._until = batch + PAUSE
            self._fallbacks.report(min(topic for topic, _ in ranges), error)
            return None
        return ArrowRecords(pa.concat_tables(parts), self._cut.schema) if parts else None

    def close(self) -> None:
        """Disconnect."""
        self._reader.close()
