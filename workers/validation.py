"""The check of a new configuration: the connector's table of properties first, then a look at the database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from connector.errors import CdcError

if TYPE_CHECKING:
    from connector.config_validation import Validation

LOGGER: Final = logging.getLogger(__name__)

LookAtDatabase = Callable[[Mapping[str, str]], Awaitable[Sequence[tuple[str, str]]]]
"""``look(config)``: (property, error line) for each finding; ``config`` has its references resolved."""


class ConfigurationCheck:
    """:data:`workers.submitted_config.Validate` over the real table. ``limit`` is how many seconds the look at the database may take."""

    def __init__(self, look: LookAtDatabase, limit: float = 60.0) -> None:
        self._look = look
        self._limit = limit

    async def __call__(self, name: str, config: Mapping[str, str | None]) -> Validation:
        """Every property with its errors, those of the look at the database included; ``name`` is for the log."""
        from connector.config_validation import CONNECTION_KEY, validate  # noqa: PLC0415 (not needed before the first POST)

        validation = validate(config)
        for notice in validation.notices:
            LOGGER.warning("configuration notice", extra={"fields": {"connector": name, "notice": notice}})
        if validation.may_connect and not validation.error_count:
            try:
                async with asyncio.timeout(self._limit):
                    findings = await self._look({key: value for key, value in config.items() if value is not None})
            except TimeoutError:
                line = f"Error while validating connector config: The database did not answer within {self._limit:g} seconds."
                findings = [(CONNECTION_KEY, line)]
            except CdcError as problem:
                # What Connect's own validation does not see, the connector finds when it reads the configuration.
                findings = [(CONNECTION_KEY, problem.message)]
            for key, line in findings:
                validation = validation.with_error(key, line)
        return validation
