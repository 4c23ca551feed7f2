"""Checks a submitted configuration: its class, the connector's table of properties, the database, and the worker's own limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final

from connect_api.herder import ConfigInfos, HerderError
from connector.config.redacted_validation import public, public_lines
from connector.config.validation import Validation, error_lines
from connector.errors import CdcError
from connector.log import EventLog
from workers.herder.plugin_config import check_plugin, config_infos
from workers.herder.plugins import check_class
from workers.herder.task_plan import TaskPlanner
from workers.settings.config_providers import Resolution
from workers.settings.preflight import Preflight
from workers.settings.redaction import Hidden
from workers.telemetry.logging import connector_context, hiding

LOG: Final = EventLog(__name__)

_MOST_STEPS: Final = 1_000
"""The most names in ``transforms`` or ``predicates``. Each has some twenty properties in the answer of a validation."""

Validate = Callable[[str, Mapping[str, str | None]], Awaitable[Validation]]
"""``validate(name, config)``: every property with its errors. ``config`` has its references resolved and may hold nulls."""


class SubmittedConfigs:
    """Checks configurations for one worker. No answer and no error holds the value of a reference."""

    def __init__(self, planner: TaskPlanner, validate: Validate, preflight: Preflight = "warn") -> None:
        self._planner = planner
        self._validate = validate
        self._preflight = preflight

    async def check(self, name: str, config: Mapping[str, str | None]) -> None:
        """Raise HerderError(400) with Connect's text and all errors. Warnings go to the log, because the answer cannot hold them."""
        given = {key: value for key, value in config.items() if value is not None}
        try:
            resolution = await self._planner.look_up(given)
        except CdcError as problem:
            lines = [str(problem)]
        else:
            check_class(config, resolution.values, self._planner.connector_version)
            if too_many := _too_many(resolution.values):
                lines = [too_many]
            else:
                lines = await self._lines(name, config, given, resolution)
        if lines:
            raise HerderError(
                400,
                f"Connector configuration is invalid and contains the following {len(lines)} error(s):\n"
                + "\n".join(lines)
                + "\nYou can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`",
            )

    async def _lines(self, name: str, config: Mapping[str, str | None], given: Mapping[str, str], resolution: Resolution) -> list[str]:
        """The errors; the warnings go to the log."""
        validation = await self._validated(name, config, given, resolution)
        with connector_context(name):
            for field in validation.fields:
                for warning in field.warnings:
                    LOG.warning("configuration warning", property=field.name, warning=warning)
        return error_lines(validation)

    async def infos(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        """All properties with their errors. Raises HerderError as :meth:`connect_api.herder.Herder.validate_config`."""
        check_plugin(plugin, config)
        given = {key: value for key, value in config.items() if value is not None}
        try:
            resolution = await self._planner.look_up(given)
            check_class(config, resolution.values, self._planner.connector_version)
        except HerderError as refusal:
            # As in Kafka Connect the status differs from that of a connector's creation.
            raise HerderError(500, f"org.apache.kafka.connect.runtime.rest.errors.BadRequestException: {refusal.message}") from refusal
        except CdcError as problem:
            raise HerderError(400, str(problem)) from problem
        if too_many := _too_many(resolution.values):
            raise HerderError(400, too_many)
        validation = await self._validated(given.get("name", ""), config, given, resolution)
        return config_infos(given["connector.class"], validation, self._planner.connector_version)

    async def _validated(self, name: str, config: Mapping[str, str | None], given: Mapping[str, str], resolution: Resolution) -> Validation:
        """The findings of the connector's table, the database and the worker, without values of references."""
        resolved = self._planner.with_version({key: resolution.values.get(key) for key in config})
        config, given = self._planner.with_version(config), self._planner.with_version(given)
        held = frozenset(resolution.found)
        hide = Hidden(resolution.found)
        with hiding(hide):
            validation = await self._validate(name, resolved)
            refused, short = self._planner.refusals(resolution.values), self._planner.shortcomings(resolution.values)
        if held:
            validation = public(validation, config, resolved, held, hide)
            refused = public_lines(refused, self._planner.refusals(given), held)
            short = public_lines(short, self._planner.shortcomings(given), held)
        # The connector's own table may report the same property, or one below it. One error is enough.
        lines = set(error_lines(validation))
        known = {word.strip("'\",.:;()") for line in lines for word in line.split()}
        known.update(above for field in validation.fields if field.errors for above in _with_parents(field.name))
        validation = validation.with_errors([(key, line) for key, line in refused if key not in known])
        return validation.with_errors(short) if self._preflight == "refuse" else validation.with_warnings(short)


def _with_parents(name: str) -> Iterator[str]:
    """Yield the name, and the names that it is below: ``a.b.c``, ``a.b``, ``a``."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _too_many(config: Mapping[str, str]) -> str:
    """Return one sentence if a list of steps is too long to be checked in a reasonable time; else an empty string."""
    for listing in ("transforms", "predicates"):
        count = config.get(listing, "").count(",") + 1
        if count > _MOST_STEPS:
            return f"The property {listing} lists {count} names. A worker accepts at most {_MOST_STEPS}."
    return ""
