"""The failures that users see.

Each is a :class:`CdcError` of one :class:`ErrorKind`. The kind alone decides whether the task tries again, waits for an operator, or
ends for good (:data:`DIRECTIVES`). The message says what failed and where, and the remedy says what to do. Neither holds a cell value
or a password.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Directive(Enum):
    """What the supervisor does with a task that raised."""

    RETRY = "retry"
    """Start the task again after a pause; the cause is expected to pass (a lost connection, a busy slot)."""
    OPERATOR = "operator"
    """Mark the task FAILED; it runs again when an operator has removed the cause and restarts it."""
    FATAL = "fatal"
    """Mark the task FAILED; no restart helps until the configuration or the program changes."""


class ErrorKind(Enum):
    """The cause of a failure.

    The first word of most names is the place: SOURCE and SLOT are PostgreSQL, SINK is the Kafka of the events, STORE the worker's own
    topics, and PROVIDER what resolves references to secrets. PROTOCOL, VALUE, SCHEMA and TRANSFORM concern a message or a record: what the
    server sent, a value that cannot be encoded, a schema that a table or the registry does not allow, and a step that fails. INTERNAL is a
    defect.
    """

    CONFIG_INVALID = "config_invalid"
    SOURCE_UNREACHABLE = "source_unreachable"
    SOURCE_CONNECTION_LOST = "source_connection_lost"
    SOURCE_AUTHENTICATION = "source_authentication"
    SOURCE_PERMISSION = "source_permission"
    SOURCE_SETTING = "source_setting"
    SOURCE_OBJECT_MISSING = "source_object_missing"
    SOURCE_QUERY = "source_query"
    SLOT_BUSY = "slot_busy"
    SLOT_LOST = "slot_lost"
    SLOT_MISMATCH = "slot_mismatch"
    SOURCE_TIMEOUT = "source_timeout"
    SOURCE_INTERNAL = "source_internal"
    SOURCE_INTERRUPTED = "source_interrupted"
    PROTOCOL = "protocol"
    VALUE = "value"
    SCHEMA = "schema"
    TRANSFORM = "transform"
    SINK_UNREACHABLE = "sink_unreachable"
    SINK_PERMISSION = "sink_permission"
    SINK_RECORD_TOO_LARGE = "sink_record_too_large"
    SINK_REFUSED = "sink_refused"
    SINK_FENCED = "sink_fenced"
    STORE = "store"
    PROVIDER_UNREACHABLE = "provider_unreachable"
    INTERNAL = "internal"


DIRECTIVES: Final[dict[ErrorKind, Directive]] = {
    ErrorKind.CONFIG_INVALID: Directive.FATAL,
    ErrorKind.SOURCE_UNREACHABLE: Directive.RETRY,
    ErrorKind.SOURCE_CONNECTION_LOST: Directive.RETRY,
    ErrorKind.SOURCE_AUTHENTICATION: Directive.OPERATOR,
    ErrorKind.SOURCE_PERMISSION: Directive.OPERATOR,
    ErrorKind.SOURCE_SETTING: Directive.OPERATOR,
    ErrorKind.SOURCE_OBJECT_MISSING: Directive.OPERATOR,
    ErrorKind.SOURCE_QUERY: Directive.OPERATOR,
    ErrorKind.SLOT_BUSY: Directive.RETRY,
    ErrorKind.SLOT_LOST: Directive.OPERATOR,
    ErrorKind.SLOT_MISMATCH: Directive.OPERATOR,
    ErrorKind.SOURCE_TIMEOUT: Directive.RETRY,
    ErrorKind.SOURCE_INTERNAL: Directive.RETRY,
    ErrorKind.SOURCE_INTERRUPTED: Directive.RETRY,
    ErrorKind.PROTOCOL: Directive.FATAL,
    ErrorKind.VALUE: Directive.FATAL,
    ErrorKind.SCHEMA: Directive.OPERATOR,
    ErrorKind.TRANSFORM: Directive.OPERATOR,
    ErrorKind.SINK_UNREACHABLE: Directive.RETRY,
    ErrorKind.SINK_PERMISSION: Directive.OPERATOR,
    ErrorKind.SINK_RECORD_TOO_LARGE: Directive.OPERATOR,
    ErrorKind.SINK_REFUSED: Directive.OPERATOR,
    ErrorKind.SINK_FENCED: Directive.FATAL,
    ErrorKind.STORE: Directive.RETRY,
    ErrorKind.PROVIDER_UNREACHABLE: Directive.RETRY,
    ErrorKind.INTERNAL: Directive.FATAL,
}
"""A test holds that every kind has its row."""


@dataclass(slots=True)
class CdcError(Exception):
    """A failure in one sentence, with what to do in another.

    ``message`` is sentence case and names the object it happened to; ``remedy`` is what to do, with the SQL or the
    property where there is one; ``detail`` may quote the server's own words.
    """

    kind: ErrorKind
    message: str
    remedy: str = ""
    detail: str = ""

    @property
    def directive(self) -> Directive:
        """What the supervisor does with the task."""
        return DIRECTIVES[self.kind]

    @property
    def passes(self) -> bool:
        """Whether a new attempt of the whole task may help.

        It does not help a statement that took too long, nor one at which the server failed inside: it would again.
        """
        return self.directive is Directive.RETRY and self.kind not in (ErrorKind.SOURCE_TIMEOUT, ErrorKind.SOURCE_INTERNAL)

    @property
    def passes_without_snapshot(self) -> bool:
        """Whether the task must start again if reading rows for a signal fails like this.

        Only if the cause is outside of the read, such as a lost connection. If the read itself conflicts with recovery or fills the disk,
        it does so each time: the task would read the same rows again after each start, and never get further.
        """
        return self.passes and self.kind is not ErrorKind.SOURCE_INTERRUPTED

    def __str__(self) -> str:
        parts = [self.message.rstrip(".") + "."]
        if self.remedy:
            parts.append(self.remedy)
        if self.detail:
            parts.append(f"({self.detail})")
        return " ".join(parts)
