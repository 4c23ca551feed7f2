from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from workers.logging import configure, connector_context, hiding, redact


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


def test_a_secret_beside_a_reference_is_none() -> None:
    assert redact({"database.password": "${env:A}hunter2", "api.key": "${x"}) == {"database.password": "[hidden]", "api.key": "[hidden]"}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\x1b[2Jb", "a\\u001b[2Jb"),
        ("a\0b", "a\\u0000b"),
        ("a\u2028b\u2029c\x85d\x0be", "a\\u2028b\\u2029c\\u0085d\\u000be"),
        ("a\u202eb\u2066c\u200fd", "a\\u202eb\\u2066c\\u200fd"),
        ("a\ud800b", "a\\ud800b"),
        ("a\ufeff\u200bb", "a\\ufeff\\u200bb"),
        ("a\U000e0041b", "a\\U000e0041b"),
        ("a\tb\r\nc", "a\\tb\\r\\nc"),
        ("\x7f", "\\u007f"),
        ("a\\u001b", "a\\\\u001b"),
        ("ä 表 😀", "ä 表 😀"),
    ],
)
def test_no_text_ends_a_line_or_moves_a_cursor(lines: io.StringIO, text: str, written: str) -> None:
    with connector_context(text):
        logging.getLogger("x").info(text, extra={"fields": {"f": text}})
    line = lines.getvalue()
    assert line.endswith(f'level=info logger=x connector="{written}" msg="{written}" f="{written}"\n')
    assert line.count("\n") == 1
    assert line[:-1].isprintable()
    line.encode()


def test_a_logger_s_own_name_and_a_field_s_name_are_escaped(lines: io.StringIO) -> None:
    logging.getLogger("x\u2028y").info("m", extra={"fields": {"a\x1b": 1}})
    assert 'logger="x\\u2028y" msg=m "a\\u001b"=1' in lines.getvalue()


def test_values_behind_references_are_taken_out_of_lines(lines: io.StringIO) -> None:
    with hiding(lambda text: text.replace("hunter2", "R")):
        logging.getLogger("x").info("hunter2 %s", "hunter2", extra={"fields": {"a": "hunter2"}})
        try:
            int("hunter2")
        except ValueError:
            logging.getLogger("x").exception("broke")
    assert "hunter2" not in lines.getvalue()
    logging.getLogger("x").info("hunter2")
    assert "hunter2" in lines.getvalue()


@pytest.mark.parametrize("logger", ["aiokafka", "aiokafka.producer.producer", "psycopg", "psycopg.pq", "httpx", "httpcore.http11"])
def test_libraries_that_log_secrets_say_nothing_below_info(lines: io.StringIO, logger: str) -> None:
    configure("DEBUG", lines)
    library = logging.getLogger(logger)
    before = library.level
    try:
        # Whatever is set, by whomever.
        library.setLevel(logging.DEBUG)
        library.debug("password=hunter2")
        library.warning("seen")
    finally:
        library.setLevel(before)
        configure("INFO", lines)
    assert "hunter2" not in lines.getvalue()
    assert "seen" in lines.getvalue()
