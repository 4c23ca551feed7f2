"""Offsets: what of a body reaches the herder, and what is refused before it."""

from __future__ import annotations

import pytest

from connect_api.herder import HerderError, Offset
from connect_api.request_error import RequestError
from connect_api.routes.offsets import changes
from tests.support.each_case import each_case
from tests.support.fake_herder import FakeHerder, failure, rest

PATH = "/connectors/c1/offsets"
JSON = {"Content-Type": "application/json"}


def one() -> FakeHerder:
    herder = FakeHerder()
    herder.add("c1")
    return herder


async def test_alter_and_reset() -> None:
    herder = one()
    async with rest(herder) as http:
        altered = await http.patch(PATH, json={"offsets": [{"partition": {"server": "c1"}, "offset": {"lsn": 12, "snapshot": False}}]})
        reset = await http.delete(f"{PATH}/?forward=true")
    assert (altered.status_code, altered.json()) == (200, {"message": "altered"})
    assert (reset.status_code, reset.json()) == (200, {"message": "reset"})
    assert herder.calls == [("alter", "c1", [Offset({"server": "c1"}, {"lsn": 12, "snapshot": False})]), ("reset", "c1")]


async def test_unknown_connector() -> None:
    async with rest(FakeHerder()) as http:
        for reply in (await http.delete(PATH), await http.patch(PATH, json={"offsets": [{}]})):
            assert (reply.status_code, reply.json()) == (404, failure(404, "Connector c1 not found"))


@pytest.mark.parametrize("body", ["{}", '{"offsets":null}', '{"offsets":[]}'])
async def test_nothing_to_change_is_said_before_the_connector_is_looked_for(body: str) -> None:
    async with rest(FakeHerder()) as http:
        reply = await http.patch(PATH, content=body, headers=JSON)
    message = "Partitions / offsets need to be provided for an alter offsets request"
    assert (reply.status_code, reply.json()) == (400, failure(400, message))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"offsets":[{"partition":{"server":"a"},"offset":null}]}', Offset({"server": "a"}, None)),
        (b'{"offsets":[{"partition":{}}]}', Offset({}, None)),
        (b'{"offsets":[{"offset":{"lsn":1}}]}', Offset(None, {"lsn": 1})),
        (b'{"offsets":[{"partition":null,"offset":{"l":9223372036854775807}}]}', Offset(None, {"l": 2**63 - 1})),
        (
            b'\xef\xbb\xbf{"offsets":[{"partition":{"a":1},"offset":{"n":null,"b":true,"f":1.5,"l":-9223372036854775808,"s":"\xc3\xa9"}}]}',
            Offset({"a": 1}, {"n": None, "b": True, "f": 1.5, "l": -(2**63), "s": "é"}),
        ),
    ],
)
def test_values_keep_their_types(body: bytes, expected: Offset) -> None:
    [change] = changes(body)
    assert change == expected
    assert [type(value) for value in (change.offset or {}).values()] == [type(value) for value in (expected.offset or {}).values()]


@each_case(
    ("body", "says"),
    [
        (b"", "no body"),
        (b"[]", "a JSON array"),
        (b'{"offsets":{}}', '"offsets" must be a JSON array'),
        (b'{"offsets":"x"}', '"offsets" must be a JSON array'),
        (b'{"offsets":[{}],"more":1}', 'Unknown field "more"'),
        (b'{"offsets":[null]}', 'Entry 1 of "offsets"'),
        (b'{"offsets":[{},[]]}', 'Entry 2 of "offsets"'),
        (b'{"offsets":[{"more":1}]}', 'Unknown field "more" in entry 1'),
        (b'{"offsets":[{"partition":"x"}]}', '"partition" in entry 1'),
        (b'{"offsets":[{"offset":[]}]}', '"offset" in entry 1'),
        (b'{"offsets":[{"partition":{"a":[1]}}]}', 'member "a" of "partition"'),
        (b'{"offsets":[{"offset":{"a":{}}}]}', 'member "a" of "offset"'),
        (b'{"offsets":[{"offset":{"a":9223372036854775808}}]}', "64 bits"),
        (b'{"offsets":[{"offset":{"a":-9223372036854775809}}]}', "64 bits"),
    ],
)
def test_what_is_no_change_is_refused_by_its_place(body: bytes, says: str) -> None:
    with pytest.raises(RequestError) as caught:
        changes(body)
    assert caught.value.status == 400
    assert says in caught.value.message


def test_values_are_not_repeated_in_messages() -> None:
    with pytest.raises((RequestError, HerderError)) as caught:
        changes(b'{"offsets":[{"partition":{"server":["hunter2"]}}]}')
    assert "hunter2" not in str(caught.value)
