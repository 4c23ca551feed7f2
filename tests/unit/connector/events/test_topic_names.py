from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from connector.events.topic_names import TopicNames, sanitize_topic
from tests.support.each_case import each_case


@each_case(
    ("name", "topic"),
    [
        ("srv.public.orders", "srv.public.orders"),
        ("srv.Inv.Odd Orders", "srv.Inv.Odd_Orders"),
        ("a-b_c.D9", "a-b_c.D9"),
        ("Straße", "Stra_e"),
        ("漢字", "__"),
        # A character beyond the basic plane is two UTF-16 units, and each became an underscore.
        ("x😀y", "x__y"),
        ("a/b:c$d#e", "a_b_c_d_e"),
        (".", "_"),
        ("..", "__"),
        ("...", "..."),
        ("x" * 249, "x" * 249),
        ("x" * 250, "x" * 249),
    ],
)
def test_sanitize(name: str, topic: str) -> None:
    assert sanitize_topic(name) == topic


@settings(deadline=None)
@given(st.text(max_size=300))
def test_every_name_is_converted_to_a_legal_topic(name: str) -> None:
    topic = sanitize_topic(name)
    assert re.fullmatch(r"[a-zA-Z0-9._\-]{0,249}", topic)
    assert topic not in (".", "..")
    assert sanitize_topic(topic) == topic


def test_default_names() -> None:
    names = TopicNames("srv")
    assert names.table("public", "orders") == "srv.public.orders"
    assert names.heartbeat() == "__debezium-heartbeat.srv"
    assert names.transaction() == "srv.transaction"


def test_configured_names() -> None:
    names = TopicNames("srv", "-", "beat", None, "tx")
    assert names.table("in v", "a.b") == "srv-in_v-a.b"
    assert names.heartbeat() == "beat-srv"
    assert names.transaction() == "srv-tx"
    assert TopicNames("srv", heartbeat_name="all beats").heartbeat() == "all_beats"
