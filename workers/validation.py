"""The check of a new configuration: the connector's table of properties first, then a look at the database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from connector.errors import CdcError
from connector.preflight.finding import Finding

if TYPE_CHECKING:
    from connector.config_validation import Validation

LOGGER: Final = logging.getLogger(__name__)

LookAtDatabase = Callable[[Mapping[str, str]], Awaitable[Sequence[Finding]]]
"""``look(config)``: all that was found; ``config`` has its references resolved."""


class ConfigurationCheck:
    """:data:`workers.submitted_config.Validate` over the real table. ``limit`` is how many seconds the look at the database may take.

    It ends a look that does not keep its own limit, so it is longer than that is by default.
    """

    def __init__(self, look: LookAtDatabase, limit: float = 90.0) -> None:
        self._look = look
        self._limit = limit

    async def __call__(self, name: str, config: Mapping[str, str | None]) -> Validation:
        """Every property with its errors and warnings, those of the look at the database included; ``name`` is for the log."""
        from connector.config_validation import CONNECTION_KEY, validate  # noqa: PLC0415 (not needed before the first POST)

        validation = validate(config)
        for notice in validation.notices:
            LOGGER.warning("configuration notice", extra={"fields": {"connector": name, "notice": notice}})
        if validation.may_connect:
            try:
                async with asyncio.timeout(self._limit):
                    findings = await self._look(validation.readable(config))
            except TimeoutError:
                line = f"Error while validating connector config: The database did not answer within {self._limit:g} seconds."
                findings = [Finding(CONNECTION_KEY, line, warning=False)]
            except CdcError as problem:
                # What Connect's own validation does not see, the connector finds when it reads the configuration; but where something
                # was left out because it is wrong, that may be all that it misses.
                findings = [] if validation.wrong else [Finding(CONNECTION_KEY, problem.message, warning=False)]
            for found in findings:
                add = validation.with_warning if found.warning else validation.with_error
                validation = add(found.key, found.text)
        return validation
