"""``guardrail.collections.max``: a limit against capturing a whole database by mistake."""

from __future__ import annotations

from collections.abc import Callable

from connector.config import ConnectorConfig
from connector.errors import CdcError, ErrorKind


def check_guardrail(config: ConnectorConfig, captured: int, warn: Callable[[str], None]) -> None:
    """Hold the number of captured tables against the limit; 0 is no limit.

    Beyond it ``guardrail.collections.limit.action`` decides: ``warn`` is told, or CdcError(CONFIG_INVALID) is raised.
    """
    most = config.guardrail_collections_max
    if most <= 0 or captured <= most:
        return
    # The first sentence is the reference's: alerts look for it.
    problem = f"Guardrail limit exceeded: {captured} tables/collections configured for capture, but maximum allowed is {most}."
    if config.guardrail_collections_limit_action == "fail":
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            problem,
            "Name fewer tables in table.include.list, raise guardrail.collections.max, or set guardrail.collections.limit.action to warn",
        )
    warn(problem)
