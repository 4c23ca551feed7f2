"""The offset topic: the source offsets of all connectors, in Kafka Connect's own keys and values.

A key is the JSON array ``["<connector>",<partition>]``. A value is the offset's JSON, null after a removal
(``OffsetStorageWriter`` with the internal JsonConverter, schemas off).
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from connector.errors import CdcError, ErrorKind
from connector.ports import JsonObject
from workers.stores.records import RecordError, connector_name, json_object, json_value, pass_over
from workers.stores.topic_log import Entry, TopicLog


class AllOffsets:
    """The offsets of every connector. Reads answer from memory."""

    def __init__(self, log: TopicLog) -> None:
        self._log = log
        self._offsets: dict[str, dict[bytes, tuple[bytes, JsonObject, JsonObject]]] = {}
        """Connector → partition with its members sorted → (key bytes, partition, offset)."""

    @property
    def problem(self) -> str:
        """Why the topic is not followed; empty while it is."""
        return self._log.problem

    async def start(self) -> None:
        """Read the topic."""
        await self._log.start(self._apply)

    async def stop(self) -> None:
        """Close the store."""
        await self._log.stop()

    async def catch_up(self) -> None:
        """Return when every record that exists now has been applied. Raises CdcError(STORE)."""
        await self._log.catch_up()

    def of(self, connector: str) -> Sequence[tuple[JsonObject, JsonObject]]:
        """The partitions of a connector with their offsets."""
        return [(partition, offset) for _, partition, offset in self._offsets.get(connector, {}).values()]

    def load(self, connector: str, partition: JsonObject) -> JsonObject | None:
        """The last offset, or None."""
        found = self._offsets.get(connector, {}).get(_same(partition))
        return None if found is None else found[2]

    def key(self, connector: str, partition: JsonObject | None) -> bytes:
        """The key of the record that holds a partition's offset."""
        found = self._offsets.get(connector, {}).get(_same(partition))
        # Another worker may have written the members in another order. Compaction needs the same key bytes.
        return orjson.dumps([connector, partition]) if found is None else found[0]

    async def store(self, connector: str, partition: JsonObject, offset: JsonObject | None) -> None:
        """Write the offset (None removes it) and wait for the acknowledgement. Raises CdcError(STORE)."""
        await self._log.write([self._entry(connector, partition, offset)])

    async def alter(self, connector: str, changes: Sequence[tuple[JsonObject | None, JsonObject | None]]) -> None:
        """Write the last change of each partition, all at once; otherwise as :meth:`store`."""
        last = {_same(partition): self._entry(connector, partition, offset) for partition, offset in changes}
        await self._log.write(list(last.values()))

    async def reset(self, connector: str) -> None:
        """Remove all offsets of a connector; otherwise as :meth:`store`."""
        await self._log.write([Entry(key, None) for key, _, _ in self._offsets.get(connector, {}).values()])

    def _entry(self, connector: str, partition: JsonObject | None, offset: JsonObject | None) -> Entry:
        key = self.key(connector, partition)
        try:
            return Entry(key, None if offset is None else orjson.dumps(offset))
        except orjson.JSONEncodeError as problem:
            raise CdcError(ErrorKind.STORE, f"The offset of the connector {connector} is not JSON") from problem

    def _apply(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            try:
                self._apply_one(entry)
            except Exception as problem:  # noqa: BLE001 (no record may end the follower)
                pass_over(self._log.name, entry.partition, entry.offset, problem)

    def _apply_one(self, entry: Entry) -> None:
        key = json_value(entry.key, "key")
        if not isinstance(key, list) or len(key) != 2 or not isinstance(key[0], str) or not isinstance(key[1], dict | None):
            raise RecordError("its key is not a pair of a connector's name and a partition")
        connector, partition = connector_name(key[0]), key[1]
        offset = json_object(entry.value)
        if partition is None:
            # A client can make Kafka Connect write such a record. Kafka Connect reads it too and never shows it.
            return
        try:
            same = _same(partition)
            # An offset that cannot be encoded could not be shown either.
            orjson.dumps(offset)
        except orjson.JSONEncodeError:
            raise RecordError("its partition or its offset is nested too deep") from None
        if offset is None:
            self._offsets.get(connector, {}).pop(same, None)
        else:
            self._offsets.setdefault(connector, {})[same] = (entry.key, partition, offset)


class ConnectorOffsets:
    """:class:`connector.ports.OffsetStore` of one connector."""

    def __init__(self, offsets: AllOffsets, connector: str) -> None:
        self._offsets = offsets
        self._connector = connector

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """The last offset that any worker has stored for ``partition``, or None. Raises CdcError(STORE)."""
        # Another worker may have run the connector before, and this worker may not have read its last record yet.
        await self._offsets.catch_up()
        return self._offsets.load(self._connector, partition)

    async def store(self, partition: JsonObject, offset: JsonObject | None) -> None:
        """Write the offset and wait until Kafka has acknowledged it. Raises CdcError(STORE)."""
        await self._offsets.store(self._connector, partition, offset)


def _same(partition: JsonObject | None) -> bytes:
    return orjson.dumps(partition, option=orjson.OPT_SORT_KEYS)
