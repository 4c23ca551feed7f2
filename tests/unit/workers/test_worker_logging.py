from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from workers.logging import configure, connector_context, redact


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure("INFO", stream)
    yield stream
    root.handlers[:] = before
    root.setLevel(level)


def test_a_line_is_key_value(lines: io.StringIO) -> None:
    logging.getLogger("workers.x").info('said "hello"\nworld', extra={"fields": {"topic": "a b", "n": 3}})
    text = lines.getvalue()
    assert text.count("\n") == 1
    assert text.startswith("time=")
    assert text.endswith('Z level=info logger=workers.x msg="said \\"hello\\"\\nworld" topic="a b" n=3\n')


def test_the_connector_s_name_comes_from_the_context(lines: io.StringIO) -> None:
    with connector_context("shop"):
        logging.getLogger("x").warning("inside")
    logging.getLogger("x").warning("outside")
    inside, outside = lines.getvalue().splitlines()
    assert " connector=shop " in inside
    assert "connector" not in outside


def test_secret_like_fields_are_hidden(lines: io.StringIO) -> None:
    logging.getLogger("x").info("m", extra={"fields": {"database.password": "hunter2", "sasl.jaas.config": "hunter3"}})
    assert "hunter" not in lines.getvalue()


def test_a_traceback_stays_on_the_line(lines: io.StringIO) -> None:
    try:
        dict[str, str]()["k"]
    except KeyError:
        logging.getLogger("x").exception("broke")
    assert lines.getvalue().count("\n") == 1
    assert "KeyError" in lines.getvalue()


@pytest.mark.parametrize(("word", "level"), [("debug", logging.DEBUG), ("WARN", logging.WARNING), ("nonsense", logging.INFO)])
def test_level_words(lines: io.StringIO, word: str, level: int) -> None:
    configure(word, lines)
    assert logging.getLogger().level == level


def test_redact_hides_values_and_keeps_references() -> None:
    config = {"database.password": "x", "database.user": "me", "ssl.key.password": "${file:/a:b}", "n": None}
    assert redact(config) == {"database.password": "[hidden]", "database.user": "me", "ssl.key.password": "${file:/a:b}", "n": None}


def test_logins_are_not_told_even_at_debug(lines: io.StringIO) -> None:
    configure("DEBUG", lines)
    request = type("SaslAuthenticateRequest_v1", (), {"__repr__": lambda _: "hunter2"})()
    logging.getLogger("aiokafka.conn").debug("Request to %s:%d %d: %s", "kafka", 9092, 3, request)
    logging.getLogger("aiokafka.conn").debug("Request to %s:%d %d: %s", "kafka", 9092, 4, "MetadataRequest")
    configure("INFO", lines)
    assert "hunter2" not in lines.getvalue()
    assert "MetadataRequest" in lines.getvalue()
