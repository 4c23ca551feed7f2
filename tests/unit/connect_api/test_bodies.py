"""Requests that the reference answers with 500 and a Java text are answered with 400 here, with the field and the remedy."""

from __future__ import annotations

import asyncio

import pytest
from fastapi import Request
from starlette.types import Message

from connect_api import bodies
from connect_api.request_error import RequestError
from tests.support.each_case import each_case
from tests.support.fake_herder import CLASS, FakeHerder, failure, rest

JSON = {"Content-Type": "application/json"}
AS_OBJECT = "Write the connector's properties as a JSON object of strings."
INVALID = "The request body is not valid JSON at"


@each_case(
    ("number", "text"),
    [
        ("5", "5"),
        ("-0", "-0"),
        ("1.5", "1.5"),
        ("1.50", "1.50"),
        ("1e5", "1e5"),
        ("0.1e-7", "0.1e-7"),
        ("12345678901234567890123", "12345678901234567890123"),
        ("123456789.123456789123456789", "123456789.123456789123456789"),
        ("true", "true"),
        ("false", "false"),
        ('" a "', " a "),
        ('""', ""),
        ('"\\u00e9\\ud83d\\ude00"', "é😀"),
        ("null", None),
    ],
)
def test_values_are_converted_to_the_text_they_were_written_with(number: str, text: str | None) -> None:
    config = bodies.connector_config("c", f'{{"a":{number}}}'.encode())
    assert config == {"a": text, "name": "c"}
    assert text is None or type(config["a"]) is str


def test_name_keeps_its_place_where_it_was_sent() -> None:
    assert list(bodies.connector_config("c", b'{"name":null,"a":"1"}').items()) == [("name", "c"), ("a", "1")]


def test_last_of_a_repeated_field_counts() -> None:
    assert bodies.new_connector(b'{"name":"x","name":"z","config":{"a":"1","a":"2"}}') == bodies.NewConnector(
        "z", {"a": "2", "name": "z"}, None
    )


def test_byte_order_mark_is_ignored() -> None:
    assert bodies.connector_config("c", b'\xef\xbb\xbf{"a":"1"}') == {"a": "1", "name": "c"}


ANY_BODY = [
    (b"", "The request has no body. Send a JSON object."),
    (b" \n", "The request has no body. Send a JSON object."),
    (b"null", "The request body is null. Send a JSON object."),
    (b"[]", "The request body is a JSON array. Send a JSON object."),
    (b'"a"', "The request body is a string. Send a JSON object."),
    (b"5", "The request body is a number. Send a JSON object."),
    (b"1.5", "The request body is a number. Send a JSON object."),
    (b"true", "The request body is a boolean. Send a JSON object."),
    (b"{bad", f"{INVALID} line 1, column 2: unexpected character, expected a string key. Correct the JSON there."),
    (b'{\n "a": 1,\n}', f"{INVALID} line 2, column 8: trailing comma is not allowed. Correct the JSON there."),
    (b"{} junk", f"{INVALID} line 1, column 4: unexpected content after document. Correct the JSON there."),
    (b'{"a":NaN}', f"{INVALID} line 1, column 6: unexpected character, expected a JSON value. Correct the JSON there."),
    (b'{"a":"\\ud800"}', f"{INVALID} line 1, column 7: no low surrogate in string. Correct the JSON there."),
    (b'{"a":"\xe9"}', "The request body is not UTF-8 at byte 7. Send JSON encoded as UTF-8."),
]

CREATE = [
    (b"{}", 'The field "config" is missing. Put the connector\'s properties into it, as a JSON object of strings.'),
    (b'{"name":"x"}', 'The field "config" is missing. Put the connector\'s properties into it, as a JSON object of strings.'),
    (b'{"name":"x","config":null}', 'The field "config" is missing. Put the connector\'s properties into it, as a JSON object of strings.'),
    (b'{"name":"x","config":[]}', f'The field "config" is a JSON array. {AS_OBJECT}'),
    (b'{"name":"x","config":"a"}', f'The field "config" is a string. {AS_OBJECT}'),
    (b'{"name":"x","config":7}', f'The field "config" is a number. {AS_OBJECT}'),
    (b'{"name":["a"],"config":{}}', 'The value of "name" is a JSON array. Write it as a string.'),
    (b'{"name":"x","config":{"a":{"b":1}}}', 'The value of configuration property "a" is a JSON object. Write it as a string.'),
    (b'{"name":"x","config":{"a":[1]}}', 'The value of configuration property "a" is a JSON array. Write it as a string.'),
    (
        b'{"name":"x","foo":1,"config":{}}',
        (
            'Unknown field "foo". A connector is created from "name", "config" and, if wanted, "initial_state"; '
            'properties of the connector belong in "config".'
        ),
    ),
    *(
        (
            f'{{"name":"x","initial_state":{state},"config":{{}}}}'.encode(),
            'The field "initial_state" must be one of RUNNING, PAUSED, STOPPED. Correct it, or leave it out to start.',
        )
        for state in ('"BOGUS"', '"STARTED"', '""', '" paused "', "0", "{}")
    ),
]


@each_case(("body", "message"), [*ANY_BODY, *CREATE])
async def test_create_says_what_is_wrong_with_its_body(body: bytes, message: str) -> None:
    herder = FakeHerder()
    async with rest(herder) as http:
        reply = await http.post("/connectors", content=body, headers=JSON)
    assert (reply.status_code, reply.json()) == (400, failure(400, message))
    assert herder.calls == []


@each_case(
    ("body", "message"), [*ANY_BODY, (b'{"a":{}}', 'The value of configuration property "a" is a JSON object. Write it as a string.')]
)
async def test_put_says_what_is_wrong_with_its_body(body: bytes, message: str) -> None:
    herder = FakeHerder()
    async with rest(herder) as http:
        reply = await http.put("/connectors/c1/config", content=body, headers=JSON)
    assert (reply.status_code, reply.json()) == (400, failure(400, message))
    assert herder.calls == []


@pytest.mark.parametrize("depth", [990, 5000])
def test_deep_nesting_is_refused(depth: int) -> None:
    with pytest.raises(RequestError):
        bodies.connector_config("c", b'{"a":' + b"[" * depth + b"]" * depth + b"}")


def test_no_message_repeats_a_value() -> None:
    for body in (b'{"database.password":{"s3cret":"s3cret"}}', b'{"database.password":"s3cret" x}', b'"s3cret"'):
        with pytest.raises(RequestError) as caught:
            bodies.connector_config("c", body)
        assert "s3cret" not in caught.value.message


@pytest.mark.parametrize(("extra", "status"), [(0, 201), (1, 413)])
async def test_a_body_may_be_four_mebibytes(extra: int, status: int) -> None:
    start, end = f'{{"name":"c1","config":{{"connector.class":"{CLASS}","a":"', '"}}'
    body = start + "x" * (bodies.LIMIT - len(start) - len(end) + extra) + end
    async with rest(FakeHerder()) as http:
        reply = await http.post("/connectors", content=body, headers=JSON)
    assert reply.status_code == status
    if status == 413:
        message = "The request body is longer than 4194304 bytes, more than a configuration may hold. Send less."
        assert reply.json() == failure(413, message)


async def test_body_without_end_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "SECONDS", 0)

    async def nothing() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(RequestError) as refusal:
        await bodies.read_any(Request({"type": "http", "method": "POST", "headers": []}, nothing))
    assert refusal.value.status == 408


@pytest.mark.parametrize(("pieces", "left"), [(3, 0), (20, 3)])
async def test_body_too_long_is_read_to_its_end_unless_it_is_much_too_long(pieces: int, left: int) -> None:
    sent = [{"type": "http.request", "body": bytes(2**20 * 2), "more_body": True} for _ in range(pieces)]
    sent[-1]["more_body"] = False
    sent.reverse()

    async def receive() -> Message:
        return sent.pop()

    with pytest.raises(RequestError) as refusal:
        await bodies.read_any(Request({"type": "http", "method": "POST", "headers": []}, receive))
    assert (refusal.value.status, len(sent) > 0) == (413, left > 0)


async def test_headers_too_long_are_refused() -> None:
    async with rest(FakeHerder()) as http:
        answer = await http.get("/", headers={f"X-{number}": "y" * 1000 for number in range(70)})
    assert (answer.status_code, answer.json()["error_code"]) == (431, 431)
