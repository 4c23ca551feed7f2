from __future__ import annotations

import pytest
from support.stream_rig import configured

from connector.config import ConnectorConfig, parse
from connector.errors import CdcError, ErrorKind
from connector.guardrail import check_guardrail

PROBLEM = "Guardrail limit exceeded: 3 tables/collections configured for capture, but maximum allowed is 2."


def limited(most: str, action: str | None = None) -> ConnectorConfig:
    given = {"guardrail.collections.max": most} | ({"guardrail.collections.limit.action": action} if action else {})
    return parse({**configured().raw, **given})[0]


def test_warns_unless_told_otherwise() -> None:
    warnings: list[str] = []
    check_guardrail(limited("2"), 3, warnings.append)
    assert warnings == [PROBLEM]


def test_fails_when_told_to() -> None:
    warnings: list[str] = []
    with pytest.raises(CdcError) as caught:
        check_guardrail(limited("2", "fail"), 3, warnings.append)
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
    assert str(caught.value).startswith(PROBLEM)
    assert warnings == []


@pytest.mark.parametrize(("most", "captured"), [("3", 3), ("3", 0), ("0", 9)])
def test_within_the_limit(most: str, captured: int) -> None:
    warnings: list[str] = []
    check_guardrail(limited(most, "fail"), captured, warnings.append)
    assert warnings == []
