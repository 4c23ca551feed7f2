"""``ContentBasedRouter``: the topic that an expression gives (Debezium documentation, "Content-based routing")."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from connector.configdef.key import VERSIONS, Key
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord
from connector.transforms.scripting.problem import EvaluationError
from connector.transforms.scripting.script import LANGUAGE, NULL_HANDLING_MODE, TOPIC_REGEX, Script
from connector.transforms.transform import SharesHeaders, TransformDefinition


@dataclass(frozen=True, slots=True)
class ContentBasedRouter(SharesHeaders):
    """Sends a record to the topic that its expression gives; null leaves the topic as it is."""

    script: Script

    @classmethod
    def of(cls, options: Options) -> ContentBasedRouter:
        """Make it of its options."""
        return cls(Script.of(options, "topic.expression"))

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """Return the record with its topic, or None to drop it. Raises EvaluationError."""
        if not self.script.applies(record):
            return record
        if self.script.decided(record):
            return record if self.script.null_handling == "keep" else None
        found = self.script.value(record)
        if found is None:
            return record
        if type(found) is not str:
            raise EvaluationError(
                f"The expression of ContentBasedRouter gives a value of type {type(found).__name__}, and not a String; "
                "a string with ${} in it needs .toString()"
            )
        return replace(record, topic=found)


KEYS: Final = (
    TOPIC_REGEX,
    LANGUAGE,
    Key(
        "topic.expression",
        "STRING",
        None,
        "HIGH",
        "Topic name expression",
        "Expression that gives the name of the record's topic; null leaves it as it is.",
        width="MEDIUM",
        fixed_order=1,
    ),
    NULL_HANDLING_MODE,
)
DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.ContentBasedRouter",
        KEYS,
        ContentBasedRouter.of,
        VERSIONS,
        "Sends records to the topics that an expression gives.",
        refused_when_saved=True,
    ),
)
