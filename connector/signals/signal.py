"""Signals: requests to a running connector (Debezium documentation, "Sending signals to a Debezium connector").

Pure: every channel delivers a signal as three texts. This module converts them to an action, or refuses the signal with one sentence.
A refused signal is logged and has no other effect; the task continues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from connector.catalog.identifiers import split_name
from connector.emulation import DEFAULT, Emulation
from connector.signals.lenient_json import read_document

__all__ = [
    "Action",
    "Condition",
    "CustomSignal",
    "ExecuteSnapshot",
    "LogMessage",
    "PauseSnapshot",
    "ResumeSnapshot",
    "SchemaChanges",
    "Signal",
    "SignalError",
    "StopSnapshot",
    "WindowClose",
    "WindowOpen",
    "read_signal",
]

OPEN: Final = "snapshot-window-open"
CLOSE: Final = "snapshot-window-close"


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal as a channel delivers it. ``data`` is JSON text, None or empty for an empty object; ``channel`` is the channel's name.

    ``additional`` is the channel's own data about the signal (the file's ``additionalData``, a record's ``channelOffset``).
    """

    id: str
    type: str
    data: str | None
    channel: str = "source"
    additional: Mapping[str, object] = field(default_factory=dict)
    named: bool = True
    """Whether the id came with the signal. Otherwise the channel has made it."""


class SignalError(Exception):
    """A signal cannot be performed; the message says why in one sentence."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Which rows to read of the tables whose names ``pattern`` matches.

    ``filter`` is a condition for an incremental snapshot, and a whole SELECT for a blocking snapshot.
    """

    pattern: str
    filter: str


@dataclass(frozen=True, slots=True)
class ExecuteSnapshot:
    """Read tables again. ``collections`` are regular expressions over ``schema.table``, or names taken literally."""

    correlation_id: str
    collections: tuple[str, ...]
    blocking: bool = False
    """Whether the stream is suspended during the snapshot."""
    bulk: bool = False
    """Whether Spark reads the rows of this blocking snapshot."""
    conditions: tuple[Condition, ...] = ()
    surrogate_key: str | None = None
    named: bool = True
    """Whether the signal came with its id."""


@dataclass(frozen=True, slots=True)
class StopSnapshot:
    """Remove tables from the running incremental snapshot; without ``collections``, end it."""

    collections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PauseSnapshot:
    """Read no further chunk until :class:`ResumeSnapshot`."""


@dataclass(frozen=True, slots=True)
class ResumeSnapshot:
    """Continue to read chunks."""


@dataclass(frozen=True, slots=True)
class WindowOpen:
    """The stream delivered the first watermark of a chunk."""

    chunk_id: str


@dataclass(frozen=True, slots=True)
class WindowClose:
    """The stream delivered the second watermark of a chunk."""

    chunk_id: str


@dataclass(frozen=True, slots=True)
class LogMessage:
    """Write ``message`` to the log, with ``{}`` replaced by the offset."""

    message: str


@dataclass(frozen=True, slots=True)
class SchemaChanges:
    """Read the descriptions of these tables (schema, table) again."""

    tables: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CustomSignal:
    """A signal that an installed class performs."""

    signal: Signal
    data: Mapping[str, object]


Action = (
    ExecuteSnapshot | StopSnapshot | PauseSnapshot | ResumeSnapshot | WindowOpen | WindowClose | LogMessage | SchemaChanges | CustomSignal
)


def read_signal(signal: Signal, custom: frozenset[str] = frozenset(), *, emulation: Emulation = DEFAULT) -> Action:
    """Return the action that ``signal`` requests. ``custom`` are the types that installed classes perform.

    Raises SignalError if the type is unknown, the data is not a JSON object, or a member is missing or of the wrong type.
    """
    reader = _READERS.get(signal.type)
    if reader is None and signal.type not in custom:
        known = ", ".join(sorted({*_READERS, *custom} - {OPEN, CLOSE}))
        raise SignalError(f"type {brief(signal.type)!r} is not known; known are {known}")
    if any("\ud800" <= character <= "\udfff" for character in signal.id):
        raise SignalError("its id holds half of a surrogate pair, which nothing can store")
    data = _data(signal.data)
    if "\0" in signal.id or any(_with_nul(value) for value in data.values()):
        raise SignalError("it holds a NUL character, which PostgreSQL cannot have in a name or a statement")
    if reader is None:
        return CustomSignal(signal, data)
    return _execute_in(emulation, signal, data) if reader is _execute else reader(signal, data)


def _with_nul(value: object) -> bool:
    """Return whether a string of ``value`` contains U+0000. Only strings up to two levels deep can reach PostgreSQL."""
    listed = value if isinstance(value, list) else [value]
    texts = [text for each in listed for text in (each.values() if isinstance(each, dict) else (each,))]
    return any("\0" in text for text in texts if isinstance(text, str))


def _data(text: str | None) -> Mapping[str, object]:
    if text is None or not text.strip():
        return {}
    try:
        data = read_document(text)
    except ValueError as error:
        raise SignalError(f"its data cannot be read as JSON: {error}") from error
    if not isinstance(data, dict):
        raise SignalError("its data is not a JSON object")
    return cast(dict[str, object], data)


def _execute(signal: Signal, data: Mapping[str, object]) -> Action:
    collections = _texts(data, "data-collections")
    if not collections:
        raise SignalError("its data names no tables in data-collections")
    kind = _kind(data)
    if kind not in ("incremental", "blocking", "spark"):
        raise SignalError(f"its data asks for a snapshot of type {brief(kind)!r}; use incremental, blocking or spark")
    blocking, bulk = kind != "incremental", kind == "spark"
    surrogate = _text(data, "surrogate-key") or ""
    return ExecuteSnapshot(signal.id, collections, blocking, bulk, _conditions(data), surrogate.strip() or None, signal.named)


def _kind(data: Mapping[str, object]) -> str:
    kind = _text(data, "type")
    return "incremental" if kind is None else kind.lower()


def _text(data: Mapping[str, object], member: str) -> str | None:
    """Return a member of the data; None if it is missing or, as recorded, not a string."""
    found = data.get(member)
    return found if isinstance(found, str) else None


def _execute_in(emulation: Emulation, signal: Signal, data: Mapping[str, object]) -> Action:
    if not emulation.reads_additional_conditions:
        data = {key: value for key, value in data.items() if key != "additional-conditions"}
    action = _execute(signal, data)
    if isinstance(action, ExecuteSnapshot) and action.blocking and not emulation.takes_blocking_snapshots:
        raise SignalError(f"its data asks for a blocking snapshot, which {emulation.version} does not have")
    return action


def _conditions(data: Mapping[str, object]) -> tuple[Condition, ...]:
    found = []
    listed = data.get("additional-conditions")
    # As recorded, a value that is not a list counts as no conditions.
    if isinstance(listed, list):
        for entry in listed:
            if not isinstance(entry, dict):
                raise SignalError("additional-conditions in its data holds something that is not an object")
            pattern, condition = entry.get("data-collection"), entry.get("filter")
            if not isinstance(pattern, str) or not isinstance(condition, str):
                raise SignalError("an entry of additional-conditions in its data lacks data-collection or filter")
            if condition.strip():
                found.append(Condition(pattern, condition))
    former = data.get("additional-condition")
    if former is not None and not isinstance(former, str):
        raise SignalError("additional-condition in its data is not text")
    if former and former.strip() and listed is None:
        # Before 2.3 there was one condition for all tables. Debezium now ignores it and reads whole tables.
        found.append(Condition(".*", former))
    return tuple(found)


def _stop(_signal: Signal, data: Mapping[str, object]) -> Action:
    kind = _kind(data)
    if kind != "incremental":
        raise SignalError(f"its data asks to stop a snapshot of type {brief(kind)!r}; only incremental ones can be stopped")
    collections = _texts(data, "data-collections")
    if not collections and data.get("data-collections"):
        # To Debezium a blank name is one that no table has. No names at all would end the whole snapshot.
        raise SignalError("its data names no tables in data-collections")
    return StopSnapshot(collections)


def _log(_signal: Signal, data: Mapping[str, object]) -> Action:
    message = data.get("message")
    if not isinstance(message, str) or not message:
        raise SignalError("its data has no message")
    return LogMessage(message)


def _schema_changes(_signal: Signal, data: Mapping[str, object]) -> Action:
    changes = data.get("changes")
    if not isinstance(data.get("database"), str) or not isinstance(changes, list):
        raise SignalError("its data lacks database or the list changes")
    tables = []
    for change in changes:
        name = change.get("id") if isinstance(change, dict) else None
        parts = split_name(name) if isinstance(name, str) else ()
        if len(parts) < 2:
            raise SignalError('an entry of changes in its data has no id of the form "database"."schema"."table"')
        tables.append((parts[-2], parts[-1]))
    return SchemaChanges(tuple(tables))


def _texts(data: Mapping[str, object], member: str) -> tuple[str, ...]:
    listed = data.get(member)
    if listed is None:
        return ()
    if not isinstance(listed, list) or not all(isinstance(entry, str) for entry in listed):
        raise SignalError(f"{member} in its data is not a list of texts")
    if len(listed) > _MOST_ENTRIES:
        raise SignalError(f"{member} in its data has {len(listed)} entries, and at most {_MOST_ENTRIES} are taken; use regular expressions")
    return tuple(dict.fromkeys(entry.strip() for entry in listed if entry.strip()))


_MOST_ENTRIES: Final = 10_000
"""The most entries of a list. Each entry is a pattern that is matched with every table's name."""


def brief(text: str) -> str:
    """Return ``text``, shortened for a line of the log, because a signal's texts can have any length."""
    return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}…"


_BRIEF: Final = 100


def _chunk_id(signal: Signal, ending: str) -> str:
    return signal.id.removesuffix(ending)


_READERS: Final[Mapping[str, Callable[[Signal, Mapping[str, object]], Action]]] = {
    "execute-snapshot": _execute,
    "stop-snapshot": _stop,
    "pause-snapshot": lambda _signal, _data: PauseSnapshot(),
    "resume-snapshot": lambda _signal, _data: ResumeSnapshot(),
    "log": _log,
    "schema-changes": _schema_changes,
    OPEN: lambda signal, _data: WindowOpen(_chunk_id(signal, "-open")),
    CLOSE: lambda signal, _data: WindowClose(_chunk_id(signal, "-close")),
}


def source_signal(cells: Sequence[bytes | None]) -> Signal:
    """Return the signal in a row of the signal table. The order of its three columns counts, not their names. Raises SignalError."""
    if len(cells) != _SIGNAL_COLUMNS:
        raise SignalError(f"the signal table has {len(cells)} columns in place of {_SIGNAL_COLUMNS} (id, type, data)")
    try:
        texts = [None if cell is None else cell.decode() for cell in cells]
    except UnicodeDecodeError as error:
        # A database with the encoding SQL_ASCII accepts any bytes.
        raise SignalError(f"the signal table's row with id {brief(repr(cells[0]))} holds bytes that are no UTF-8") from error
    return Signal(texts[0] or "", texts[1] or "", texts[2])


_SIGNAL_COLUMNS: Final = 3
