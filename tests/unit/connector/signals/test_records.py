"""Signals out of records and lines: what is read and what is refused, as recorded from the reference."""

from __future__ import annotations

import contextlib

import pytest

from connector.signals.inbox import SignalInbox
from connector.signals.records import is_signal, is_whole, read_line, read_record
from connector.signals.signal import Signal, SignalError
from tests.support.each_case import each_case


def record(value: bytes | None, key: bytes | None = b"shop") -> Signal | None:
    return read_record(key, value, "shop", 7, lambda: "new")


def test_a_record() -> None:
    value = b'{"id":"s1","type":"execute-snapshot","data":{"data-collections":["public.\xc3\xa4"]}}'
    assert record(value) == Signal(
        "s1", "execute-snapshot", '{"data-collections": ["public.ä"]}', channel="kafka", additional={"channelOffset": 7}
    )


@pytest.mark.parametrize("value", [b'{"type":"log"}', b'{"id":5,"type":"log"}', b'{"id":null,"type":"log","data":null,"more":1}'])
def test_a_record_without_an_id_gets_one(value: bytes) -> None:
    assert record(value) == Signal("new", "log", None, channel="kafka", additional={"channelOffset": 7}, named=False)


@pytest.mark.parametrize("key", [None, b"", b"other", b"SHOP", b"shop-2"])
def test_a_record_of_another_connector(key: bytes | None) -> None:
    assert record(b'{"id":"s1","type":"log"}', key) is None
    # Whatever it holds: it is the other connector's to complain.
    assert record(b"not JSON", key) is None


@each_case(
    ("value", "reason"),
    [
        (None, "it has no value"),
        (b"", "it is not JSON"),
        (b"secret", "it is not JSON"),
        (b"\xff", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b'{"id":"\\ud800","type":"log"}', "it is not JSON"),
        (b'["secret"]', "it is not a JSON object"),
        (b'"secret"', "it is not a JSON object"),
        (b"{}", 'it has no "type"'),
        (b'{"id":"secret"}', 'it has no "type"'),
        (b'{"type":null}', 'it has no "type"'),
        (b'{"type":"log","data":"{}"}', 'its "data" is not a JSON object'),
        (b'{"type":"log","data":["secret"]}', 'its "data" is not a JSON object'),
    ],
)
def test_a_record_that_is_refused(value: bytes | None, reason: str) -> None:
    with pytest.raises(SignalError) as refusal:
        record(value)
    assert str(refusal.value) == reason


def test_text_after_the_object_is_ignored() -> None:
    signal = record(b' {"id":"s1","type":"log"} zz')
    assert signal is not None
    assert signal.id == "s1"


@pytest.mark.parametrize("depth", [900, 1010, 5000])
def test_nothing_but_a_refusal_comes_of_deep_data(depth: int) -> None:
    # How deep Python writes JSON depends on its version and on the callers; 1,010 is read, and not written by 3.11.
    with contextlib.suppress(SignalError):
        record(b'{"id":"s1","type":"log","data":%b1%b}' % (b'{"a":' * depth, b"}" * depth))


def test_a_line() -> None:
    line = b'{"id":"f1","type":"log","data":{"message":"{}"},"additionalData":{"who":"me"}}\n'
    assert read_line(line) == Signal("f1", "log", '{"message": "{}"}', channel="file", additional={"who": "me"})


@pytest.mark.parametrize("line", [b"", b"  \t"])
def test_a_blank_line(line: bytes) -> None:
    assert read_line(line) is None


@pytest.mark.parametrize(
    ("line", "reason"), [(b"not JSON", "it is not JSON"), (b'{"type":"log"}', 'it has no "id"'), (b'{"id":"f1"}', 'it has no "type"')]
)
def test_a_line_that_is_refused(line: bytes, reason: str) -> None:
    with pytest.raises(SignalError, match=reason):
        read_line(line)


def test_whole_or_not() -> None:
    assert is_whole(b'{"id":"f1"}')
    assert not is_whole(b'{"id":"f1"')
    assert not is_whole(b"")


@pytest.mark.parametrize(
    ("line", "signal"),
    [
        (b'{"id":"1","type":"log"} zz', True),
        (b'{"id":"1","type":"no such","data":"text"}', True),
        (b'{"id":"1"}', False),
        (b'{"id":1,"type":"log"}', False),
        (b"[]", False),
        (b"", False),
        (b"\xff", False),
    ],
)
def test_the_form_of_a_signal(line: bytes, signal: bool) -> None:
    assert is_signal(line) == signal


def test_the_inbox() -> None:
    inbox, taken = SignalInbox(), list[Signal]()
    signal = Signal("s1", "log", None, "http")
    assert not inbox.offer(signal)
    inbox.open("http", taken.append)
    assert inbox.channel == "http"
    assert inbox.offer(signal)
    inbox.close()
    assert not inbox.offer(signal)
    assert taken == [signal]
