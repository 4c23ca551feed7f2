"""Divides records into compressed batches that their topic takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from connector.io.kafka.aiokafka_internals import PreparedBatch
from connector.io.kafka.compression import Compressor
from connector.record.batch import Record, RecordBatch, encode_records

_CHUNK_WEIGHT: Final = 900_000
"""The most bytes of one batch, without the constant text that compresses away. It is below the broker's default limit of 1 MiB."""
_CHUNK_SIZE: Final = 4_000_000
"""The most bytes of one batch before compression, which limits the memory that consumers need."""
_CHUNK_RECORDS: Final = 4_000
_TOPIC_LIMIT: Final = 1_048_576
"""The default of a topic's ``max.message.bytes``, but for its 12 bytes of overhead. A batch of several records stays below it even if
``max.request.size`` is higher, because that may have been raised for the records of one topic only."""
_OVERHEAD: Final = 512
_BROKER_LIMIT: Final = 104_857_600 - 65_536
"""The default of a broker's ``socket.request.max.bytes``, without what else may be in a request. A broker closes the connection instead of
answering a larger one, and aiokafka would send it again without an end."""


class BatchMaker:
    """Makes the batches of one producer, with ``max_request`` (``max.request.size``) as their limit unless a topic has a lower one."""

    def __init__(self, compressor: Compressor, max_request: int, *, transactional: bool) -> None:
        self._compressor = compressor
        self._max_request = max_request
        self._transactional = transactional
        self._limits: dict[str, int] = {}
        """The most bytes of a batch of several records, for topics that refused one."""

    def batches(self, topic: str, batch: RecordBatch) -> Iterator[PreparedBatch]:
        """Yield the batches, in the records' order; each is compressed when it is asked for."""
        for chunk in _chunks(batch):
            yield from self.pack(topic, chunk)

    def pack(self, topic: str, records: list[Record]) -> list[PreparedBatch]:
        """Compress the records. While a batch exceeds the size limit and has several records, divide it in two."""
        body = encode_records(records)
        codec, packed = self._compressor.compress(body)
        limit = min(self._max_request, self._limits.get(topic, _TOPIC_LIMIT))
        if len(packed) > limit - _OVERHEAD and len(records) > 1:
            middle = len(records) // 2
            return self.pack(topic, records[:middle]) + self.pack(topic, records[middle:])
        return [PreparedBatch(records, packed, codec, transactional=self._transactional, written=len(body))]

    def sendable(self, batch: PreparedBatch) -> bool:
        """Return whether a broker can answer a request with ``batch``; the topic's own limit is the broker's to check."""
        return batch.size() <= max(self._max_request, _BROKER_LIMIT)

    def smaller(self, topic: str, refused: PreparedBatch) -> list[PreparedBatch]:
        """Return the records of a batch that the topic refused as too large, in at least two batches.

        Later batches of the topic have half its size at most, unless they are of one record.
        """
        self._limits[topic] = min(self._limits.get(topic, _TOPIC_LIMIT), refused.size() // 2)
        return self.halves(topic, refused)

    def halves(self, topic: str, refused: PreparedBatch) -> list[PreparedBatch]:
        """Return the records of a batch that the topic refused for one of them, in two batches. Later batches are as large as before."""
        records = refused.records
        middle = len(records) // 2
        return self.pack(topic, records[:middle]) + self.pack(topic, records[middle:])


def _chunks(batch: RecordBatch) -> list[list[Record]]:
    """Divide the records into lists of equal length for one batch each. The limits decide the number of lists.

    :meth:`BatchMaker.pack` divides a list further if it is too large after compression.
    """
    records = batch.records
    count = max(-(-batch.weight // _CHUNK_WEIGHT), -(-batch.size // _CHUNK_SIZE), -(-len(records) // _CHUNK_RECORDS))
    if count <= 1:
        return [records]
    step = -(-len(records) // count)
    return [records[begin : begin + step] for begin in range(0, len(records), step)]
