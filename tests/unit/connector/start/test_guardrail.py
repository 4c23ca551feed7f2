from __future__ import annotations

import pytest

from connector.config.connector_config import ConnectorConfig, parse
from connector.errors import CdcError, ErrorKind
from connector.start.guardrail import check_guardrail
from tests.support.stream_rig import configured
from tests.support.warned import Warned

PROBLEM = "Guardrail limit exceeded: 3 tables/collections configured for capture, but maximum allowed is 2."


def limited(most: str, action: str | None = None) -> ConnectorConfig:
    given = {"guardrail.collections.max": most} | ({"guardrail.collections.limit.action": action} if action else {})
    return parse({**configured().raw, **given})[0]


def test_warns_by_default() -> None:
    warnings = Warned()
    check_guardrail(limited("2"), 3, warnings)
    assert warnings == [f"guardrail limit exceeded reason={PROBLEM}"]


def test_fails_if_configured() -> None:
    warnings = Warned()
    with pytest.raises(CdcError) as caught:
        check_guardrail(limited("2", "fail"), 3, warnings)
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
    assert str(caught.value).startswith(PROBLEM)
    assert warnings == []


@pytest.mark.parametrize(("most", "captured"), [("3", 3), ("3", 0), ("0", 9)])
def test_within_the_limit(most: str, captured: int) -> None:
    warnings = Warned()
    check_guardrail(limited(most, "fail"), captured, warnings)
    assert warnings == []
