"""``TimestampRouter``: another topic by the record's timestamp (Kafka documentation, "Transformations")."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from connector.configdef.key import Key
from connector.configdef.options import OptionError, Options
from connector.java.date_format import DateFormat, PatternError
from connector.record.connect_record import ConnectRecord, DataError
from connector.transforms.kafka.definitions import definition


@dataclass(frozen=True, slots=True)
class TimestampRouter:
    """Names the topic by ``topic_format``, in which ``${topic}`` and ``${timestamp}`` stand for the topic and the time in UTC."""

    topic_format: str
    timestamp_format: DateFormat

    @classmethod
    def of(cls, options: Options) -> TimestampRouter:
        """Make it of its options. Raises OptionError."""
        try:
            pattern = DateFormat.compile(options.needed("timestamp.format"))
        except PatternError as error:
            raise OptionError(f"timestamp.format is not a pattern of SimpleDateFormat: {error}") from None
        return cls(options.needed("topic.format"), pattern)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with its new topic. Raises DataError for a record without a timestamp."""
        if record.timestamp is None:
            raise DataError(f"Timestamp missing on record of topic {record.topic}")
        named = self.topic_format.replace("${topic}", record.topic)
        return replace(record, topic=named.replace("${timestamp}", self.timestamp_format.format(record.timestamp)))


def _row(name: str, default: str, doc: str) -> Key:
    return Key(name, "STRING", default, "HIGH", name, doc, framework=True, fixed_order=-1)


KEYS: Final = (
    _row("topic.format", "${topic}-${timestamp}", "Name of the new topic; ${topic} and ${timestamp} stand for the topic and the time."),
    _row("timestamp.format", "yyyyMMdd", "How the time is written: a pattern of Java's SimpleDateFormat, in UTC."),
)
DEFINITIONS: Final = (definition("TimestampRouter", KEYS, TimestampRouter.of, "Renames topics by the record's timestamp."),)
