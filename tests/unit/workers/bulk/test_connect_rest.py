"""Messages about the worker whose connector gets a snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.bulk.connect_rest import Connector
from workers.spark.failure import JobError


async def test_messages_have_no_login() -> None:
    connector = Connector("http://ann:geheim@127.0.0.1:1", "shop")
    with pytest.raises(JobError, match=r"^http://127\.0\.0\.1:1 does not answer"):
        await connector.state()
    await connector.aclose()


def test_an_address_or_a_login_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"w:x is no http or https address"):
        Connector("http://ann:geheim@w:x", "shop")
    (tmp_path / "netrc").write_text("machine w\ngeheim x\n")
    with pytest.raises(JobError, match=r"netrc has an error in line 2"):
        Connector("http://w", "shop", tmp_path / "netrc")
