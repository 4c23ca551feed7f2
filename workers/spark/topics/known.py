"""What earlier batches found out about a topic. Plain data, which a checkpoint stores."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """A layout of a topic. ``newest`` is the commit (ts_ms, lsn) of its last change of a row, (0, 0) if none is known."""

    value: int | None
    key: int | None
    value_schema: str | None
    key_schema: str | None
    newest: tuple[int, int]
    filled: tuple[tuple[str, str], ...] = ()
    """Column → PostgreSQL's text of its value in rows that are older than the column (:mod:`workers.spark.source.missing`)."""

    @property
    def shows_rows(self) -> bool:
        """Whether a row has this layout. Records without a key may all be truncates, which do not show the table's key."""
        return self.key is not None or self.newest > (0, 0)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for the schemas of records that cannot be read. ``reason`` says where and why, without any data of the records."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A layout of ``topic`` that only waiting records have. Its schemas are stored, because Kafka may no longer have these records."""

    topic: str
    value: int | None
    key: int | None
    value_schema: str | None
    key_schema: str | None
    unreadable: str | None = None
    """Why there are no schemas (see :class:`Unreadable`)."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """A TRUNCATE: the place of its record, the time of its commit, and its LSN.

    The beginning of a snapshot counts as one too. ``tx`` is then the transaction that the rows of the snapshot name. A blocking snapshot
    names that of the last streamed event, and that event's LSN.
    """

    partition: int
    offset: int
    lsn: int
    ts_ms: int
    tx: int | None = None


@dataclass(frozen=True, slots=True)
class Reached:
    """The newest applied event of a topic partition: the LSN at which its transaction ended, and its number in the transaction."""

    topic: str
    partition: int
    lsn: int
    order: int


@dataclass(frozen=True, slots=True)
class TopicState:
    """The state of a topic: its table (schema, name), its layouts, and the last truncates.

    The table's name does not change, whichever tables of the source later events name.
    """

    table: tuple[str, str] | None = None
    layouts: tuple[Known, ...] = ()
    truncates: tuple[Truncate, ...] = ()
    moved: tuple[tuple[int, int | None], ...] = ()
    """(Turn, newest value layout at that time) of each turn whose images of moved rows (:mod:`workers.spark.effects.moves`) are kept."""
    followed: tuple[int, int] | None = None
    """The commit (ts_ms, lsn) up to which the table's columns match those of the events."""
    awaited: tuple[tuple[int, int], ...] = ()
    """(Move, batch) of each move whose other half is awaited, and the batch that found the first half."""
    kept: str | None = None
    """The table (``schema.name``) that holds the topic's rows; None before the first rows."""
    aside: str | None = None
    """The reason why the topic is set aside, so that its records are not read; None while they are read."""
