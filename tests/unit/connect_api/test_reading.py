"""Offsets, plugins, progress: what is only read."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from connect_api.herder import Offset
from tests.support.fake_herder import CLASS, FakeHerder, failure, rest

CONNECTOR = f'{{"class":"{CLASS}","type":"source","version":"3.6.3.Final"}}'
OTHERS = (
    '{"class":"org.example.Unwrap","type":"transformation","version":"3.6.3.Final"},{"class":"org.example.IsTombstone","type":"predicate"}'
)


async def test_offsets_keep_the_order_of_their_members() -> None:
    herder = FakeHerder()
    stored = {"last_snapshot_record": True, "lsn": 22176496, "txId": 726, "ts_usec": 1795242511502549, "snapshot": "INITIAL"}
    herder.add("c1").offsets += [Offset({"server": "pp"}, MappingProxyType(stored)), Offset({"server": "qq"}, None)]
    async with rest(herder) as http:
        reply = await http.get("/connectors/c1/offsets")
    assert reply.status_code == 200
    assert reply.text == (
        '{"offsets":[{"partition":{"server":"pp"},"offset":{"last_snapshot_record":true,"lsn":22176496,"txId":726,'
        '"ts_usec":1795242511502549,"snapshot":"INITIAL"}},{"partition":{"server":"qq"},"offset":null}]}'
    )


async def test_offsets_before_the_first_and_of_an_unknown_connector() -> None:
    herder = FakeHerder()
    herder.add("c1")
    async with rest(herder) as http:
        assert (await http.get("/connectors/c1/offsets")).text == '{"offsets":[]}'
        reply = await http.get("/connectors/none/offsets")
    assert (reply.status_code, reply.json()) == (404, failure(404, "Connector none not found"))


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("", f"[{CONNECTOR}]"),
        ("/", f"[{CONNECTOR}]"),
        ("?connectorsOnly=true", f"[{CONNECTOR}]"),
        ("?connectorsOnly=TRUE", f"[{CONNECTOR}]"),
        ("?connectorsOnly=", f"[{CONNECTOR}]"),
        ("?connectorsOnly=false", f"[{CONNECTOR},{OTHERS}]"),
        ("?connectorsOnly=bogus", f"[{CONNECTOR},{OTHERS}]"),
    ],
)
async def test_plugins(query: str, body: str) -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.get(f"/connector-plugins{query}")
    assert (reply.status_code, reply.text) == (200, body)


async def test_progress() -> None:
    herder = FakeHerder()
    herder.add("c1")
    async with rest(herder) as http:
        assert (await http.get("/connectors/c1/progress")).json() == {"phase": "snapshot", "tables": [{"table": "public.a", "rows": 7}]}
        reply = await http.get("/connectors/none/progress")
    assert (reply.status_code, reply.json()) == (404, failure(404, "Connector none not found"))
