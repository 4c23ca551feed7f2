"""How the demo shows events."""

from __future__ import annotations

import json

import pytest

from workers.quickstart.demo.events import Event, line

ROW = [
    {"field": "sku", "type": "string", "optional": False},
    {
        "field": "price",
        "type": "bytes",
        "optional": False,
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "2"},
    },
]
TOPIC = "shop.public.products"
# 13.90, 12.50 and -0.01 as unscaled two's complement.
OLD, NEW, LESS = "BOI=", "BW4=", "/w=="


def event(op: str, before: dict[str, object] | None, after: dict[str, object] | None, arrived: int = 1_700_000_000_123) -> Event:
    fields = [{"field": name, "type": "struct", "fields": ROW} for name in ("before", "after")]
    payload = {"before": before, "after": after, "op": op, "source": {"ts_ms": 1_700_000_000_118}}
    return Event(TOPIC, key(), json.dumps({"schema": {"fields": fields}, "payload": payload}).encode(), arrived)


def key() -> bytes:
    return json.dumps({"schema": {"fields": ROW[:1]}, "payload": {"sku": "MUG"}}).encode()


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (event("r", None, {"sku": "MUG", "price": OLD}), 'read      sku="MUG"  -> sku="MUG" price=12.50'),
        (event("c", None, {"sku": "MUG", "price": LESS}), 'create    sku="MUG"  -> sku="MUG" price=-0.01   +5 ms'),
        (event("u", {"sku": "MUG", "price": OLD}, {"sku": "MUG", "price": NEW}), 'update    sku="MUG"  price: 12.50 -> 13.90   +5 ms'),
        (event("u", None, {"sku": "MUG", "price": NEW}), 'update    sku="MUG"  -> sku="MUG" price=13.90   +5 ms'),
        (event("d", {"sku": "MUG", "price": NEW}, None), 'delete    sku="MUG"  sku="MUG" price=13.90 ->   +5 ms'),
        (event("c", None, {"sku": None, "price": None}), 'create    sku="MUG"  -> sku=null price=null   +5 ms'),
        (Event(TOPIC, key(), None, 1_700_000_000_123), 'tombstone sku="MUG"'),
    ],
)
def test_an_event_is_one_line(shown: Event, expected: str) -> None:
    assert line(shown) == f"22:13:20.123  {TOPIC:<24} {expected}"


def test_a_row_without_a_key_says_so() -> None:
    keyed = event("c", None, {"sku": "MUG", "price": OLD})
    assert "create    (no key)  -> sku" in line(Event(keyed.topic, None, keyed.value, keyed.arrived))


def test_a_slow_clock_gives_no_negative_delay() -> None:
    assert line(event("c", None, {"sku": "MUG", "price": OLD}, arrived=1_700_000_000_100)).endswith("+0 ms")
