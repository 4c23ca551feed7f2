"""Checks a new configuration: first by the connector's table of properties, then by queries to the database."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from connector.errors import CdcError
from connector.log import EventLog
from connector.preflight.finding import Finding
from workers.settings.class_map import with_python_classes
from workers.settings.preflight import Preflight

if TYPE_CHECKING:
    from connector.config.validation import Validation

LOG: Final = EventLog(__name__)

_CONNECTION: Final = frozenset(
    {"name", "connector.class", "connector.plugin.version", "topic.prefix", "connection.validation.timeout.ms", "plugin.name"}
)
"""What a connection needs, beside the properties of database and driver. With 2.3.4 the plugin is tried too."""


class LookAtDatabase(Protocol):
    """Queries the database that a configuration names."""

    async def __call__(self, config: Mapping[str, str], /, *, further: bool) -> Sequence[Finding]:
        """All findings. ``config`` has its references resolved.

        Without ``further`` only those checks run that Debezium runs too.
        """
        ...


class ConfigurationCheck:
    """A :data:`workers.herder.submitted_config.Validate` with the connector's table of properties.

    ``limit``: seconds that the queries to the database may take. It exceeds the default limit that ``look`` has itself.
    """

    def __init__(
        self,
        look: LookAtDatabase,
        preflight: Preflight = "warn",
        limit: float = 90.0,
        classes: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """``classes`` are the worker's Python classes in place of Java's."""
        self._classes = classes
        self._look = look
        self._preflight = preflight
        self._limit = limit

    async def __call__(self, name: str, config: Mapping[str, str | None]) -> Validation:
        """Every property with its errors and warnings, including those from the database. ``name`` is for the log."""
        from connector.config.validation import validate, warning_lines  # noqa: PLC0415 (not needed before the first POST)

        validation = validate(with_python_classes(config, self._classes))
        for notice in validation.notices:
            LOG.warning("configuration notice", connector=name, notice=notice)
        # A property that this worker cannot support is left out of the look, and that alone may make the connector refuse the rest.
        whole = not validation.wrong and not warning_lines(validation)
        if self._preflight == "refuse":
            validation = validation.strictly()
        if validation.may_connect:
            for found in await self._findings(config, validation, whole=whole):
                refuses = not found.warning and (found.reference or self._preflight == "refuse")
                warning = found if found.warning else found.as_warning()
                validation = validation.with_error(found.key, found.text) if refuses else validation.with_warning(found.key, warning.text)
        return validation

    async def _findings(self, config: Mapping[str, str | None], validation: Validation, *, whole: bool) -> Sequence[Finding]:
        from connector.config.validation import CONNECTION_KEY, strict_problems  # noqa: PLC0415

        strict = strict_problems(config, validation.version)
        if strict:
            return [Finding(key, line, warning=False, reference=True) for key, line in strict]
        try:
            async with asyncio.timeout(self._limit):
                return await self._look(validation.readable(config), further=self._preflight != "off")
        except TimeoutError:
            line = f"Error while validating connector config: The database did not answer within {self._limit:g} seconds."
            return [Finding(CONNECTION_KEY, line, warning=False, reference=True)]
        except CdcError as problem:
            # The connector finds, when it reads the configuration, what Connect's own validation does not find.
            found = [Finding(CONNECTION_KEY, problem.message, warning=False)] if whole else []
            return [*found, *await self._connection(validation.readable(config))]

    async def _connection(self, config: Mapping[str, str]) -> Sequence[Finding]:
        """Return what the database says of a configuration that the connector cannot read: Debezium connects nevertheless."""
        needed = {name: value for name, value in config.items() if name in _CONNECTION or name.startswith(("database.", "driver."))}
        try:
            async with asyncio.timeout(self._limit):
                return await self._look(needed, further=False)
        except (TimeoutError, CdcError):
            return []
