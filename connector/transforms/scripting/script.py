"""What ``Filter`` and ``ContentBasedRouter`` have in common: which records the script is asked about, and its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from connector.configdef.key import Key
from connector.configdef.options import OptionError, Options
from connector.record.connect_record import ConnectRecord
from connector.transforms.routing_pattern import RoutingPattern
from connector.transforms.scripting.engine import Engine, engine_of

NULL_HANDLING: Final = ("drop", "keep", "evaluate")


@dataclass(frozen=True, slots=True)
class Script:
    """A script with the records that it is for."""

    engine: Engine
    topics: RoutingPattern | None
    null_handling: str

    @classmethod
    def of(cls, options: Options, expression: str) -> Script:
        """Make it of its options; ``expression`` is the name of the option with the script. Raises OptionError."""
        missing = [name for name in ("language", expression) if not (options.text(name) or "").strip()]
        if missing:
            raise OptionError("; ".join(f"The '{name}' value is invalid: A value is required" for name in missing))
        handling = options.needed("null.handling.mode").lower()
        if handling not in NULL_HANDLING:
            raise OptionError(f"The 'null.handling.mode' value is invalid: Value must be one of {', '.join(NULL_HANDLING)}")
        regex = options.text("topic.regex")
        try:
            topics = RoutingPattern(regex, options, "topic.regex") if regex else None
        except ValueError as error:
            raise OptionError(f"The 'topic.regex' value is invalid: A valid regular expression is expected, but {error}") from None
        return cls(engine_of(options.needed("language"), options.raw[expression]), topics, handling)

    def applies(self, record: ConnectRecord) -> bool:
        """Whether the record is of one of the topics."""
        return self.topics is None or self.topics.matches(record.topic)

    def decided(self, record: ConnectRecord) -> bool:
        """Whether the script is not asked about the record, because its value is null."""
        return record.value is None and self.null_handling != "evaluate"

    def value(self, record: ConnectRecord) -> Any:
        """Evaluate the script. Raises EvaluationError."""
        return self.engine.evaluate(record)


TOPIC_REGEX: Final = Key(
    "topic.regex",
    "STRING",
    None,
    "LOW",
    "Topic regex",
    "Regular expression for the whole name of the topic; records of other topics pass unchanged. Without it all topics are meant.",
    width="LONG",
    fixed_order=1,
)
LANGUAGE: Final = Key(
    "language",
    "STRING",
    None,
    "HIGH",
    "Expression language",
    "Language of the expression: 'jsr223.groovy', 'jsr223.graal.js' or 'python'.",
    width="MEDIUM",
    fixed_order=1,
)
NULL_HANDLING_MODE: Final = Key(
    "null.handling.mode",
    "STRING",
    "keep",
    "LOW",
    "Handle null records",
    "What to do with a record without a value: keep passes it on, drop removes it, evaluate asks the expression.",
    width="SHORT",
    fixed_order=1,
)
