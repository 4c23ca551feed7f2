"""Signals: what users and operators ask of a running connector (Debezium documentation, "Sending signals to a Debezium connector").

Pure: a signal arrives as three texts, whichever channel brought it, and is read into an action here or refused in one sentence.
A signal that cannot be understood never harms the task: it is told of in the log and forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from connector.signal_document import read_document

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
    """A signal as it arrived. ``data`` is JSON text, None or empty for an empty object; ``channel`` is the channel's name.

    ``additional`` is what the channel itself knows of it (the file's ``additionalData``, a record's ``channelOffset``).
    """

    id: str
    type: str
    data: str | None
    channel: str = "source"
    additional: Mapping[str, object] = field(default_factory=dict)


class SignalError(Exception):
    """A signal that cannot be obeyed, in one sentence."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What rows of the tables whose names ``pattern`` matches are wanted.

    ``filter`` is a condition for an incremental snapshot, a whole SELECT for a blocking one.
    """

    pattern: str
    filter: str


@dataclass(frozen=True, slots=True)
class ExecuteSnapshot:
    """Read tables again. ``collections`` are regular expressions over ``schema.table``, or names taken literally."""

    correlation_id: str
    collections: tuple[str, ...]
    blocking: bool = False
    """With the stream standing still."""
    bulk: bool = False
    """A blocking one, whose rows Spark reads."""
    conditions: tuple[Condition, ...] = ()
    surrogate_key: str | None = None


@dataclass(frozen=True, slots=True)
class StopSnapshot:
    """Take tables off the running incremental snapshot; without ``collections`` end it."""

    collections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PauseSnapshot:
    """Read no further chunk until :class:`ResumeSnapshot`."""


@dataclass(frozen=True, slots=True)
class ResumeSnapshot:
    """Go on with the chunks."""


@dataclass(frozen=True, slots=True)
class WindowOpen:
    """Our own low watermark came through the stream."""

    chunk_id: str


@dataclass(frozen=True, slots=True)
class WindowClose:
    """Our own high watermark came through the stream."""

    chunk_id: str


@dataclass(frozen=True, slots=True)
class LogMessage:
    """Write ``message`` to the log with the offset in the place of ``{}``."""

    message: str


@dataclass(frozen=True, slots=True)
class SchemaChanges:
    """Look at these tables (schema, table) again."""

    tables: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CustomSignal:
    """An action that an installed class performs."""

    signal: Signal
    data: Mapping[str, object]


Action = (
    ExecuteSnapshot | StopSnapshot | PauseSnapshot | ResumeSnapshot | WindowOpen | WindowClose | LogMessage | SchemaChanges | CustomSignal
)


def read_signal(signal: Signal, custom: frozenset[str] = frozenset(), *, former: bool = False) -> Action:
    """What ``signal`` asks for. ``custom`` are the types that installed classes perform; ``former``: as 2.3.4 reads it.

    Raises SignalError: type unknown, data no JSON object, a member missing or of the wrong kind.
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
    return _execute_former(signal, data) if former and reader is _execute else reader(signal, data)


def _with_nul(value: object) -> bool:
    """Whether a text that one of our own signals may give to PostgreSQL holds U+0000: none lies deeper than two levels."""
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
        raise SignalError("its data is no JSON object")
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
    return ExecuteSnapshot(signal.id, collections, blocking, bulk, _conditions(data), surrogate.strip() or None)


def _kind(data: Mapping[str, object]) -> str:
    kind = _text(data, "type")
    return "incremental" if kind is None else kind.lower()


def _text(data: Mapping[str, object], member: str) -> str | None:
    """As recorded, a member that is no text counts as one that is not there."""
    found = data.get(member)
    return found if isinstance(found, str) else None


def _execute_former(signal: Signal, data: Mapping[str, object]) -> Action:
    """As recorded of 2.3.4: no blocking snapshots, and one condition for all tables, not a list of them."""
    action = _execute(signal, {key: value for key, value in data.items() if key != "additional-conditions"})
    if isinstance(action, ExecuteSnapshot) and action.blocking:
        raise SignalError("its data asks for a blocking snapshot, which 2.3.4.Final does not have")
    return action


def _conditions(data: Mapping[str, object]) -> tuple[Condition, ...]:
    found = []
    listed = data.get("additional-conditions")
    # As recorded, conditions that are no list count as none.
    if isinstance(listed, list):
        for entry in listed:
            if not isinstance(entry, dict):
                raise SignalError("additional-conditions in its data holds something that is no object")
            pattern, condition = entry.get("data-collection"), entry.get("filter")
            if not isinstance(pattern, str) or not isinstance(condition, str):
                raise SignalError("an entry of additional-conditions in its data lacks data-collection or filter")
            if condition.strip():
                found.append(Condition(pattern, condition))
    former = data.get("additional-condition")
    if former is not None and not isinstance(former, str):
        raise SignalError("additional-condition in its data is no text")
    if former and former.strip() and listed is None:
        # The form before 2.3: one condition for all tables. The reference reads it no more, and would read them whole.
        found.append(Condition(".*", former))
    return tuple(found)


def _stop(_signal: Signal, data: Mapping[str, object]) -> Action:
    kind = _kind(data)
    if kind != "incremental":
        raise SignalError(f"its data asks to stop a snapshot of type {brief(kind)!r}; only incremental ones can be stopped")
    return StopSnapshot(_texts(data, "data-collections"))


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
        raise SignalError(f"{member} in its data is no list of texts")
    if len(listed) > _MOST_ENTRIES:
        raise SignalError(f"{member} in its data has {len(listed)} entries, and at most {_MOST_ENTRIES} are taken; use regular expressions")
    return tuple(dict.fromkeys(entry.strip() for entry in listed if entry.strip()))


_MOST_ENTRIES: Final = 10_000
"""Each is a pattern that is compiled and matched against every table's name."""


def brief(text: str) -> str:
    """``text`` as a line of the log may hold it: a signal's texts can have any length."""
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


def split_name(text: str) -> tuple[str, ...]:
    """A dotted name's parts; a part in double quotes may hold dots, and two quotes in it stand for one."""
    parts, at = [], 0
    while at <= len(text):
        if text[at : at + 1] == '"':
            end = at + 1
            while end < len(text) and (text[end] != '"' or text[end : end + 2] == '""'):
                end += 2 if text[end] == '"' else 1
            parts.append(text[at + 1 : end].replace('""', '"'))
            at = end + 1
        else:
            end = text.find(".", at)
            end = len(text) if end < 0 else end
            parts.append(text[at:end])
            at = end
        if at >= len(text):
            break
        at += 1
    return tuple(parts)


def source_signal(cells: Sequence[bytes | None]) -> Signal:
    """The signal in a row of the signal table: its three columns count by their places. Raises SignalError."""
    if len(cells) != _SIGNAL_COLUMNS:
        raise SignalError(f"the signal table has {len(cells)} columns in place of {_SIGNAL_COLUMNS} (id, type, data)")
    try:
        texts = [None if cell is None else cell.decode() for cell in cells]
    except UnicodeDecodeError as error:
        # A database without an encoding (SQL_ASCII) takes any bytes.
        raise SignalError(f"the signal table's row with id {brief(repr(cells[0]))} holds bytes that are no UTF-8") from error
    return Signal(texts[0] or "", texts[1] or "", texts[2])


_SIGNAL_COLUMNS: Final = 3
