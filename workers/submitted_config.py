"""The check of a configuration that somebody sent: the class, the connector's table, the database, and what the worker can do."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from connect_api.herder import ConfigInfos, HerderError
from connector.config_validation import Validation, error_lines
from connector.errors import CdcError
from connector.public_validation import public, public_lines
from workers.hidden import Hidden
from workers.logging import connector_context, hiding
from workers.plugin_config import check_plugin, config_infos
from workers.plugins import check_class
from workers.secrets import Resolution
from workers.task_plan import TaskPlanner
from workers.validation import Preflight

LOGGER: Final = logging.getLogger(__name__)

Validate = Callable[[str, Mapping[str, str | None]], Awaitable[Validation]]
"""``validate(name, config)``: every property with what is wrong with it; ``config`` has its references resolved, and its nulls."""


class SubmittedConfigs:
    """Checks configurations for one worker. What it tells never holds the value behind a reference."""

    def __init__(self, planner: TaskPlanner, validate: Validate, preflight: Preflight = "warn") -> None:
        self._planner = planner
        self._validate = validate
        self._preflight = preflight

    async def check(self, name: str, config: Mapping[str, str | None]) -> None:
        """Raises HerderError(400) with Connect's text and all error lines. Warnings go to the log: the answer has no place for them."""
        given = {key: value for key, value in config.items() if value is not None}
        try:
            resolution = self._planner.look_up(given)
        except CdcError as problem:
            lines = [str(problem)]
        else:
            check_class(config, resolution.values)
            validation = await self._validated(name, config, given, resolution)
            lines = error_lines(validation)
            with connector_context(name):
                for field in validation.fields:
                    for warning in field.warnings:
                        LOGGER.warning("configuration warning", extra={"fields": {"property": field.name, "warning": warning}})
        if lines:
            raise HerderError(
                400,
                f"Connector configuration is invalid and contains the following {len(lines)} error(s):\n"
                + "\n".join(lines)
                + "\nYou can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`",
            )

    async def infos(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        """All properties with what is wrong with each. Raises HerderError as :meth:`connect_api.herder.Herder.validate_config`."""
        check_plugin(plugin, config)
        given = {key: value for key, value in config.items() if value is not None}
        try:
            resolution = self._planner.look_up(given)
            check_class(config, resolution.values)
        except HerderError as refusal:
            # As Connect answers: the status is another one than when a connector is created.
            raise HerderError(500, f"org.apache.kafka.connect.runtime.rest.errors.BadRequestException: {refusal.message}") from refusal
        except CdcError as problem:
            raise HerderError(400, str(problem)) from problem
        validation = await self._validated(given.get("name", ""), config, given, resolution)
        return config_infos(given["connector.class"], validation)

    async def _validated(self, name: str, config: Mapping[str, str | None], given: Mapping[str, str], resolution: Resolution) -> Validation:
        """What the connector's table, the database and the worker say, without the values behind references."""
        resolved = {key: resolution.values.get(key) for key in config}
        held = frozenset(resolution.found)
        hide = Hidden(found for each in resolution.found.values() for found in each)
        with hiding(hide):
            validation = await self._validate(name, resolved)
            refused, short = self._planner.refusals(resolution.values), self._planner.shortcomings(resolution.values)
        if held:
            validation = public(validation, config, resolved, held, hide)
            refused = public_lines(refused, self._planner.refusals(given), held)
            short = public_lines(short, self._planner.shortcomings(given), held)
        # The connector's own table may know the property as well: one line is enough.
        wrong = [field.name for field in validation.fields if field.errors]
        lines = error_lines(validation)
        for key, line in refused:
            if not any(key in told for told in lines) and not any(f"{name}.".startswith(f"{key}.") for name in wrong):
                validation = validation.with_error(key, line)
        for key, line in short:
            add = validation.with_error if self._preflight == "refuse" else validation.with_warning
            validation = add(key, line)
        return validation
