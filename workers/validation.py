"""The check of a new configuration: the connector's table of properties first, then a look at the database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, Protocol

from connector.errors import CdcError
from connector.preflight.finding import Finding

if TYPE_CHECKING:
    from connector.config_validation import Validation

LOGGER: Final = logging.getLogger(__name__)

Preflight = Literal["warn", "refuse", "off"]
"""The worker property ``preflight``: what follows from a finding that the reference does not have. ``off`` does not even look."""


class LookAtDatabase(Protocol):
    """The look at the database that a configuration names."""

    async def __call__(self, config: Mapping[str, str], /, *, further: bool) -> Sequence[Finding]:
        """All that was found; ``config`` has its references resolved.

        Without ``further`` nothing is looked at but what the reference looks at.
        """
        ...


class ConfigurationCheck:
    """:data:`workers.submitted_config.Validate` over the real table. ``limit`` is how many seconds the look at the database may take.

    It ends a look that does not keep its own limit, so it is longer than that is by default.
    """

    def __init__(self, look: LookAtDatabase, preflight: Preflight = "warn", limit: float = 90.0) -> None:
        self._look = look
        self._preflight = preflight
        self._limit = limit

    async def __call__(self, name: str, config: Mapping[str, str | None]) -> Validation:
        """Every property with its errors and warnings, those of the look at the database included; ``name`` is for the log."""
        from connector.config_validation import validate, warning_lines  # noqa: PLC0415 (not needed before the first POST)

        validation = validate(config)
        for notice in validation.notices:
            LOGGER.warning("configuration notice", extra={"fields": {"connector": name, "notice": notice}})
        # Where something is left out of the look because it cannot be played, its absence may be all that the reading misses.
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
        from connector.config_validation import CONNECTION_KEY, strict_problems  # noqa: PLC0415

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
            # What Connect's own validation does not see, the connector finds when it reads the configuration.
            return [Finding(CONNECTION_KEY, problem.message, warning=False)] if whole else []
