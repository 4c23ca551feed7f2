"""The worker's plugins, and the check of ``connector.class``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from connect_api.herder import HerderError, Plugin
from connector.config.keys import DEFAULT_VERSION
from connector.config.keys.plugin_classes import UNDEFINED, class_version
from workers.telemetry.logging import redact

KAFKA_VERSION: Final = "4.3.0"
KAFKA_COMMIT: Final = "a9ce3221537b8653"
CONNECTOR_VERSION: Final = DEFAULT_VERSION
CONNECTOR_CLASS: Final = "io.debezium.connector.postgresql.PostgresConnector"
TASK_CLASS: Final = "io.debezium.connector.postgresql.PostgresConnectorTask"
ALIASES: Final = frozenset({CONNECTOR_CLASS, "PostgresConnector", "Postgres"})
"""Connect accepts the full name, the simple name, and the simple name without its suffix."""


@cache
def others(version: str = CONNECTOR_VERSION) -> tuple[Plugin, ...]:
    """Return the other plugins of an emulated version that a connector's configuration may name, in Connect's order."""
    # These import every transform and converter, which the REST interface does not need at first.
    from connector.converters.catalog import CONVERTERS, HEADER_CONVERTERS  # noqa: PLC0415
    from connector.transforms.catalog import PREDICATES, TRANSFORMS  # noqa: PLC0415

    named = (
        *((name, "transformation") for name in sorted(TRANSFORMS) if version in TRANSFORMS[name].versions),
        *((name, "predicate") for name in sorted(PREDICATES)),
        *((name, "converter") for name in sorted(CONVERTERS)),
        *((name, "header_converter") for name in sorted(HEADER_CONVERTERS)),
    )
    return tuple(_plugin(name, kind, class_version(name, version)) for name, kind in named)


def _plugin(name: str, kind: str, version: str) -> Plugin:
    # Connect lists such a class without a version.
    return Plugin(name, kind, None if version == UNDEFINED else version)


def connectors(version: str = CONNECTOR_VERSION) -> tuple[Plugin, ...]:
    """Return the connector's plugin; ``version`` is the one that the worker shows."""
    return (Plugin(CONNECTOR_CLASS, "source", version),)


def check_class(
    config: Mapping[str, str | None], resolved: Mapping[str, str | None] | None = None, version: str = CONNECTOR_VERSION
) -> None:
    """Raise HerderError(400) with Connect's text, which shows ``version``, unless the class is the connector's.

    The class in ``resolved`` counts where the configuration holds references. The text shows ``config`` as it was sent.
    """
    name = config.get("connector.class")
    if name is None:
        shown = ", ".join(f"{key}={'null' if value is None else value}" for key, value in redact(config).items())
        raise HerderError(400, f"Connector config {{{shown}}} contains no connector type")
    if (resolved or config).get("connector.class") not in ALIASES:
        known = (
            f"PluginDesc{{klass=class {CONNECTOR_CLASS}, name='{CONNECTOR_CLASS}', version='{version}', "
            f"encodedVersion={version}, type=source, typeName='source', location='python'}}"
        )
        raise HerderError(
            400, f"Failed to find any class that implements Connector and which name matches {name}, available connectors are: {known}"
        )
