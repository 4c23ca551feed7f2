"""Messages about the worker whose connector gets a snapshot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from connector.errors import CdcError
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


class Offsets:
    """The offsets of a worker's connector."""

    def __init__(self) -> None:
        self.offset: object = None
        self.refusal = ""

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            listed = [] if self.offset is None else [{"partition": {"server": "shop"}, "offset": self.offset}]
            return httpx.Response(200, json={"offsets": listed})
        if self.refusal:
            return httpx.Response(400, json={"message": self.refusal})
        [change] = json.loads(request.content)["offsets"]
        self.offset = change["offset"]
        return httpx.Response(200, json={"message": "done"})


@pytest.fixture
def offsets(monkeypatch: pytest.MonkeyPatch) -> Offsets:
    known = Offsets()
    client = httpx.AsyncClient

    def answered(**arguments: object) -> httpx.AsyncClient:
        return client(**{**arguments, "transport": httpx.MockTransport(known.answer)})  # type: ignore[arg-type]

    monkeypatch.setattr(httpx, "AsyncClient", answered)
    return known


PARTITION: Mapping[str, object] = {"server": "shop"}
BEGUN: Mapping[str, object] = {"lsn": 7, "txId": None, "snapshot_completed": False}
DONE: Mapping[str, object] = {"lsn": 7, "snapshot_completed": True}


async def test_the_end_of_a_snapshot_is_stored(offsets: Offsets) -> None:
    connector = Connector("http://w", "shop")
    await connector.store(PARTITION, BEGUN)
    await connector.store(PARTITION, DONE)
    assert offsets.offset == DONE


async def test_the_end_is_not_stored_if_the_connector_ran_meanwhile(offsets: Offsets) -> None:
    connector = Connector("http://w", "shop")
    await connector.store(PARTITION, BEGUN)
    offsets.offset = {"lsn": 9}
    with pytest.raises(JobError, match=r"the offset of connector shop has changed, so it ran meanwhile"):
        await connector.store(PARTITION, DONE)
    assert offsets.offset == {"lsn": 9}


async def test_a_connector_that_is_not_stopped(offsets: Offsets) -> None:
    connector = Connector("http://w", "shop")
    offsets.refusal = "Connectors must be in the STOPPED state"
    with pytest.raises(CdcError, match="must be in the STOPPED state"):
        await connector.store(PARTITION, BEGUN)
    offsets.refusal = ""
    await connector.store(PARTITION, BEGUN)
    offsets.refusal = "Connectors must be in the STOPPED state"
    with pytest.raises(JobError, match=r"All rows were sent, but the end of the snapshot was not stored: .*Stop connector shop, and run"):
        await connector.store(PARTITION, DONE)
