"""What is known of a topic from the batches before: it is plain data, which a checkpoint keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """A layout of a topic. ``newest`` is the (ts_ms, lsn) of its last change of a row, by the source's commits."""

    value: int | None
    key: int | None
    value_schema: str | None
    key_schema: str | None
    newest: tuple[int, int]
    filled: tuple[tuple[str, str], ...] = ()
    """Columns, and PostgreSQL's texts of what rows that are older show for them (:mod:`workers.spark.source.missing`)."""

    @property
    def shows_rows(self) -> bool:
        """Whether a row is known to have it. A record without a key may be a truncate: it says nothing of the table's key."""
        return self.key is not None or self.newest > (0, 0)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for schemas that a topic's records do not have; ``reason`` says where and why, without what the records hold."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A layout of ``topic`` that only records have which wait: the batch that brought them, and could tell of it, is gone."""

    topic: str
    value: int | None
    key: int | None
    value_schema: str | None
    key_schema: str | None
    unreadable: str | None = None
    """Why there are no schemas (see :class:`Unreadable`)."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """A TRUNCATE that was read: where, when it was committed, and its LSN."""

    partition: int
    offset: int
    lsn: int
    ts_ms: int


@dataclass(frozen=True, slots=True)
class TopicState:
    """What is known of a topic: its table (schema, name), its layouts, and the last truncates."""

    table: tuple[str, str] | None = None
    layouts: tuple[Known, ...] = ()
    truncates: tuple[Truncate, ...] = ()
    moved: tuple[tuple[int, int | None], ...] = ()
    """Batches whose images of moved rows (:mod:`workers.spark.jobs.moves`) are kept, and the newest layout (of the value) then."""
    followed: tuple[int, int] | None = None
    """Up to which commit (ts_ms, lsn) the tables' columns follow the events'."""
    awaited: tuple[tuple[int, int], ...] = ()
    """Moves that are waited for, and the batch that began to."""
    kept: str | None = None
    """The table (``schema.name``) that an earlier turn brought the topic's rows into; None for none yet."""
    aside: str | None = None
    """Why the topic is set aside: nothing of it is read. None as long as it is read."""
