from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.each_case import each_case
from workers.telemetry.mbean import MBean
from workers.telemetry.name_pattern import canonical_name, parse_name

BEAN = MBean("kafka.connect", (("type", "connect-metrics"), ("client-id", '"connect-10.0.0.1:8083"')), {})


@each_case(
    "text",
    [
        'kafka.connect:type=connect-metrics,client-id="connect-10.0.0.1:8083"',
        'kafka.connect:client-id="connect-10.0.0.1:8083",type=connect-metrics',
        "kafka.*:*",
        "*:*",
        "kafka.connect:type=connect-m*,*",
        "kafka.connect:*,type=connect-m?trics",
        'kafka.connect:type=connect-metrics,client-id="connect-10.0.0.*"',
        "",
    ],
)
def test_patterns_that_match(text: str) -> None:
    assert parse_name(text).matches(BEAN)


@pytest.mark.parametrize(
    "text",
    [
        "kafka.connect:type=connect-metrics",
        "kafka.producer:*",
        "kafka.connect:type=connect-metrics,client-id=connect*",
        "kafka.connect:type=connect-metrics,client-id=*,node-id=*",
        r'kafka.connect:type=connect-metrics,client-id="connect-10.0.0.\*"',
    ],
)
def test_patterns_that_do_not_match(text: str) -> None:
    assert not parse_name(text).matches(BEAN)


@pytest.mark.parametrize("text", ["kafka.connect", "kafka.connect:", "kafka.connect:type", "a:b=c,b=d", "a:b=c:d", "a:=b", "a:b=c;d=e=f"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_name(text)


def test_only_wildcards_make_a_pattern() -> None:
    assert not parse_name(r'a:b="c\*"').is_pattern
    assert parse_name('a:b="c*"').is_pattern
    assert parse_name("a:b=c,*").is_pattern
    assert parse_name("?:b=c").is_pattern


def test_the_canonical_name_has_sorted_keys() -> None:
    assert canonical_name(BEAN) == 'kafka.connect:client-id="connect-10.0.0.1:8083",type=connect-metrics'
    assert parse_name("a:z=1,b=2,*").canonical == "a:b=2,z=1,*"
    assert parse_name("a:z=1,b=2,*").written == "a:z=1,b=2,*"


@given(st.text("ab*?\n", max_size=12), st.text("ab\n", max_size=12))
def test_wildcards_are_those_of_java(wild: str, text: str) -> None:
    expected = re.fullmatch("".join({"*": ".*", "?": "."}.get(sign, sign) for sign in wild), text, re.DOTALL) is not None
    named = MBean("d", (("key", text),), {})
    quoted = MBean("d", (("key", f'"{text}"'),), {})
    assert parse_name(f"d:key={wild}").matches(named) is expected
    assert parse_name(f'd:key="{wild}"').matches(quoted) is expected


@pytest.mark.parametrize(
    "work",
    [
        lambda: parse_name(f"d:key={'*?' * 10}*~").matches(MBean("d", (("key", "a" * 60),), {})),
        lambda: parse_name(f"d:key={'*a' * 100}*~").matches(MBean("d", (("key", "a" * 250),), {})),
        lambda: parse_name("d:" + ",".join(f"{at}=" for at in range(20_000))),
    ],
    ids=["wildcards in turn", "many stars", "many keys"],
)
def test_a_name_takes_time_in_proportion_to_its_length(work: Callable[[], object]) -> None:
    began = time.process_time()
    work()
    assert time.process_time() - began < 1
