"""``Filter``: drops the records for which an expression is false (Debezium documentation, "Message filtering")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connector.configdef.key import VERSIONS, Key
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord
from connector.transforms.scripting.problem import EvaluationError
from connector.transforms.scripting.script import LANGUAGE, NULL_HANDLING_MODE, TOPIC_REGEX, Script
from connector.transforms.transform import SharesHeaders, TransformDefinition


@dataclass(frozen=True, slots=True)
class Filter(SharesHeaders):
    """Keeps a record when its condition is true. A condition that is neither true nor false is an error."""

    script: Script

    @classmethod
    def of(cls, options: Options) -> Filter:
        """Make it of its options."""
        return cls(Script.of(options, "condition"))

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """Return the record, or None to drop it. Raises EvaluationError."""
        if not self.script.applies(record):
            return record
        if self.script.decided(record):
            return record if self.script.null_handling == "keep" else None
        found = self.script.value(record)
        if found is None:
            raise EvaluationError("The condition of Filter gives null, and not a Boolean")
        if type(found) is not bool:
            raise EvaluationError(f"The condition of Filter gives a value of type {type(found).__name__}, and not a Boolean")
        return record if found else None


KEYS: Final = (
    TOPIC_REGEX,
    LANGUAGE,
    Key(
        "condition",
        "STRING",
        None,
        "HIGH",
        "Filtering condition",
        "Expression that is true for the records to keep.",
        width="MEDIUM",
        fixed_order=1,
    ),
    NULL_HANDLING_MODE,
)
DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.Filter",
        KEYS,
        Filter.of,
        VERSIONS,
        "Keeps the records for which an expression is true.",
        refused_when_saved=True,
    ),
)
