"""``guardrail.collections.max``: a limit that prevents the capture of a whole database by mistake."""

from __future__ import annotations

from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError, ErrorKind
from connector.log import Warn


def check_guardrail(config: ConnectorConfig, captured: int, warn: Warn) -> None:
    """Check the number of captured tables against the limit; 0 means no limit.

    If it is exceeded, ``guardrail.collections.limit.action`` decides: call ``warn``, or raise CdcError(CONFIG_INVALID).
    """
    most = config.guardrail_collections_max
    if most <= 0 or captured <= most:
        return
    # The first sentence is Debezium's, because users' alerts search for it.
    problem = f"Guardrail limit exceeded: {captured} tables/collections configured for capture, but maximum allowed is {most}."
    if config.guardrail_collections_limit_action == "fail":
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            problem,
            "Name fewer tables in table.include.list, raise guardrail.collections.max, or set guardrail.collections.limit.action to warn",
        )
    warn("guardrail limit exceeded", reason=problem)
