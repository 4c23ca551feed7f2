"""The plugins this worker plays, and how a configuration's ``connector.class`` finds one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect_api.herder import HerderError, Plugin
from connector.config_keys.converter_keys import JSON_CONVERTER, SIMPLE_HEADER_CONVERTER, STRING_CONVERTER
from connector.config_keys.plugin_classes import PREDICATES
from workers.logging import redact

KAFKA_VERSION: Final = "4.3.0"
KAFKA_COMMIT: Final = "a9ce3221537b8653"
CONNECTOR_VERSION: Final = "3.6.3.Final"
CONNECTOR_CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"
TASK_CLASS: Final = "io.debezium.connector.postgresql.PostgresConnectorTask"
ALIASES: Final = frozenset({CONNECTOR_CLASS, "PostgresConnector", "Postgres"})
"""Connect takes the full name, the simple one, and the simple one without its suffix."""

CONNECTORS: Final = (Plugin(CONNECTOR_CLASS, "source", CONNECTOR_VERSION),)
OTHERS: Final = (
    *(Plugin(name, "predicate", KAFKA_VERSION) for name in PREDICATES),
    Plugin(JSON_CONVERTER, "converter", KAFKA_VERSION),
    Plugin(SIMPLE_HEADER_CONVERTER, "header_converter", KAFKA_VERSION),
    Plugin(STRING_CONVERTER, "header_converter", KAFKA_VERSION),
)
"""What a connector's configuration may name beside, in Connect's order."""


def check_class(config: Mapping[str, str | None], resolved: Mapping[str, str | None] | None = None) -> None:
    """Raises HerderError(400) with Connect's text when no plugin of ours is meant.

    What counts is the class in ``resolved``, where the configuration holds references; the text shows ``config`` as it was sent.
    """
    name = config.get("connector.class")
    if name is None:
        shown = ", ".join(f"{key}={'null' if value is None else value}" for key, value in redact(config).items())
        raise HerderError(400, f"Connector config {{{shown}}} contains no connector type")
    if (resolved or config).get("connector.class") not in ALIASES:
        known = (
            f"PluginDesc{{klass=class {CONNECTOR_CLASS}, name='{CONNECTOR_CLASS}', version='{CONNECTOR_VERSION}', "
            f"encodedVersion={CONNECTOR_VERSION}, type=source, typeName='source', location='python'}}"
        )
        raise HerderError(
            400, f"Failed to find any class that implements Connector and which name matches {name}, available connectors are: {known}"
        )
