"""Reads the records of a batch in Python: those which Spark's stream has given the batch, from Kafka itself."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
from aiokafka.errors import KafkaError, OffsetOutOfRangeError

from workers.spark.fallback import Fallbacks
from workers.spark.jobs.checkpoint import Checkpoint
from workers.spark.topics.arrow_records import ArrowRecords
from workers.spark.topics.cut_records import Hash, NotCut, PythonCut
from workers.spark.topics.range_reader import Place, RangeReader, Records

_LOG: Final = logging.getLogger(__name__)
PAUSE: Final = 20
"""So many batches are Spark's after Kafka could not be read here."""


class _TooLarge(Exception):  # noqa: N818 - a condition, which is handled here
    """The records have too many bytes."""


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

        def take(place: Place, records: Records) -> None:
            parts.append(self._cut.part(place, records))
            if sum(part.nbytes for part in parts) > octets:
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
