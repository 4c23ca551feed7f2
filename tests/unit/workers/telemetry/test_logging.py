from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from connector.log import EventLog
from workers.telemetry.logging import configure, connector_context, hiding, redact


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


def test_the_names_of_a_logger_and_of_a_field_are_escaped(lines: io.StringIO) -> None:
    logging.getLogger("x\u2028y").info("m", extra={"fields": {"a\x1b": 1}})
    assert 'logger="x\\u2028y" msg=m "a\\u001b"=1' in lines.getvalue()


def test_values_of_references_are_removed_from_lines(lines: io.StringIO) -> None:
    with hiding(lambda text: text.replace("hunter2", "R")):
        logging.getLogger("x").info("hunter2 %s", "hunter2", extra={"fields": {"a": "hunter2"}})
        try:
            int("hunter2")
        except ValueError:
            logging.getLogger("x").exception("broke")
    assert "hunter2" not in lines.getvalue()
    logging.getLogger("x").info("hunter2")
    assert "hunter2" in lines.getvalue()


@pytest.mark.parametrize(
    "logger",
    ["aiokafka", "aiokafka.producer.producer", "psycopg", "psycopg.pq", "httpx", "httpcore.http11", "botocore.parsers", "urllib3"],
)
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


@pytest.fixture
def json_lines(lines: io.StringIO) -> io.StringIO:
    configure("INFO", lines, "json")
    return lines


def test_a_json_line_holds_the_event_and_its_typed_fields(json_lines: io.StringIO) -> None:
    with connector_context("shop"):
        EventLog("workers.x").info("table read", table="a b", rows=3, done=True, part=None, share=0.5, tables=["a"], ends={"b": (1, "c")})
    line = json.loads(json_lines.getvalue())
    assert line.pop("time").endswith("Z")
    assert list(line.items()) == [
        ("level", "info"),
        ("logger", "workers.x"),
        ("connector", "shop"),
        ("msg", "table read"),
        ("table", "a b"),
        ("rows", 3),
        ("done", True),
        ("part", None),
        ("share", 0.5),
        ("tables", ["a"]),
        ("ends", {"b": [1, "c"]}),
    ]


def test_a_json_line_hides_secrets_at_any_depth(json_lines: io.StringIO) -> None:
    with hiding(lambda text: text.replace("hunter2", "R")):
        EventLog("x").info("m hunter2", password="p1", inside={"api.key": "p2", "of": ["hunter2"]}, hunter2=1)
        try:
            int("hunter2")
        except ValueError as problem:
            EventLog("x").error("broke", cause=problem)
    first, second = map(json.loads, json_lines.getvalue().splitlines())
    assert first["password"] == "[hidden]"
    assert first["inside"] == {"api.key": "[hidden]", "of": ["R"]}
    assert (first["msg"], first["R"]) == ("m R", 1)
    assert second["trace"].startswith("Traceback")
    assert "hunter2" not in json_lines.getvalue()


def test_a_field_never_replaces_a_fixed_member_of_a_json_line(json_lines: io.StringIO) -> None:
    EventLog("x").info("m", level="low", time=1, connector="own")
    line = json.loads(json_lines.getvalue())
    assert (line["level"], line["level_"], line["time_"], line["connector"]) == ("info", "low", 1, "own")


def test_values_unknown_to_json_are_written_as_text(json_lines: io.StringIO) -> None:
    EventLog("x").info("m", share=float("nan"), kind=ValueError)
    line = json.loads(json_lines.getvalue(), parse_constant=pytest.fail)
    assert (line["share"], line["kind"]) == ("nan", "<class 'ValueError'>")


@pytest.mark.parametrize("text", ["a\x1b[2J\r\n\0", "\u2028\x85\x7f\u202e\ufeff", "\ud800", "\U000e0041", 'ä 表 😀 "\\'])
def test_no_text_ends_a_json_line_or_moves_a_cursor(json_lines: io.StringIO, text: str) -> None:
    EventLog("x").info("m", f=text)
    line = json_lines.getvalue()
    assert line.endswith("\n")
    assert line[:-1].isprintable()
    assert json.loads(line)["f"] == text
