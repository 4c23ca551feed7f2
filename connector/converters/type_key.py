"""The property that every converter has in its ``ConfigDef`` (Kafka's ``ConverterConfig``)."""

from __future__ import annotations

from typing import Final

from connector.configdef.kafka_validators import one_of
from connector.configdef.key import Key

TYPE_KEY: Final = Key(
    "converter.type",
    "STRING",
    None,
    "LOW",
    "converter.type",
    "Whether keys, values or headers are converted; set by the worker.",
    validators=(one_of("key", "value", "header"),),
    required=True,
    framework=True,
    fixed_order=-1,
)
