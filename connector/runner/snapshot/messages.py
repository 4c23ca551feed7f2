"""The messages between the snapshot's process and its reader processes (:mod:`connector.runner.child.pipe`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connector.catalog.table import CatalogTable
from connector.record.batch import Record
from connector.runner.child.pipe import Failed, Logged
from connector.snapshot.bulk import RecordsFailed
from connector.snapshot.parts import Handout


@dataclass(frozen=True, slots=True)
class Order:
    """Read a part of ``table``."""

    handout: Handout
    table: CatalogTable


@dataclass(frozen=True, slots=True)
class Go:
    """Kafka has the first row, so the reader must send the others."""


@dataclass(frozen=True, slots=True)
class Flush:
    """There is no part to read now. The reader must report when Kafka has everything."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The reader is connected and uses the snapshot."""


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """The first or the last row of a part, as a record for each marker that the row may get."""

    topic: str
    records: Mapping[str, Record]


@dataclass(frozen=True, slots=True)
class Opened:
    """The first row of a part that has several rows. The reader waits for :class:`Go`."""

    first: EdgeRow


@dataclass(frozen=True, slots=True)
class Advanced:
    """The reader has sent ``rows`` more rows of the part."""

    rows: int


@dataclass(frozen=True, slots=True)
class PartRead:
    """The part has been read. ``rows`` more rows were sent; ``last``, the last row, was not sent."""

    rows: int
    last: EdgeRow | None


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Kafka has all rows that were sent for the parts before this message."""


@dataclass(frozen=True, slots=True)
class TopicUsed:
    """The reader sends to this topic."""

    topic: str


PartReport = Ready | Opened | Advanced | PartRead | Acknowledged | TopicUsed | RecordsFailed | Logged | Failed
"""The messages from a reader."""
