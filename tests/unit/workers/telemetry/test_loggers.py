"""Levels of loggers, over a tree of loggers of each test's own. What the answers must be was seen of Kafka Connect 4.3.0."""

from __future__ import annotations

import importlib
import logging

import pytest

from connect_api.herder import LoggerLevel
from tests.support.each_case import each_case
from workers.telemetry.loggers import JAVA, Loggers, stands_for


class Tree:
    """Loggers whose root says INFO, and a clock that each reading moves."""

    def __init__(self, *names: str) -> None:
        self.manager = logging.Manager(logging.RootLogger(logging.INFO))
        for name in names:
            self.manager.getLogger(name)
        self.now = 0
        self.loggers = Loggers(self.tick, self.manager)

    def tick(self) -> int:
        self.now += 1
        return self.now

    def words(self) -> dict[str, str]:
        return {name: reported.level for name, reported in self.loggers.all().items()}


def test_a_level_counts_for_those_below_and_for_no_other() -> None:
    tree = Tree("connector.runner.task", "connector.io", "connector", "connectors", "workers")
    assert tree.loggers.set("connector", "debug") == ["connector", "connector.io", "connector.runner.task"]
    assert tree.words() == {
        "connector": "DEBUG",
        "connector.io": "DEBUG",
        "connector.runner.task": "DEBUG",
        "connectors": "INFO",
        "root": "INFO",
        "workers": "INFO",
    }
    assert tree.manager.getLogger("connector.io").isEnabledFor(logging.DEBUG)
    assert not tree.manager.getLogger("workers").isEnabledFor(logging.DEBUG)
    # Also for one that comes later.
    assert tree.manager.getLogger("connector.later").isEnabledFor(logging.DEBUG)


def test_what_was_set_below_gives_way() -> None:
    tree = Tree("a", "a.b", "a.b.c")
    tree.loggers.set("a.b", "ERROR")
    assert tree.words() == {"a": "INFO", "a.b": "ERROR", "a.b.c": "ERROR", "root": "INFO"}
    assert tree.loggers.set("a", "DEBUG") == ["a", "a.b", "a.b.c"]
    assert set(tree.words().values()) == {"DEBUG", "INFO"}


def test_only_changed_loggers_are_returned_and_dated() -> None:
    tree = Tree("a", "a.b")
    assert tree.loggers.set("a", "INFO") == []
    assert tree.loggers.get("a") == LoggerLevel("INFO", None)
    assert tree.loggers.set("a.b", "WARN") == ["a.b"]
    assert tree.loggers.set("a", "WARN") == ["a"]
    assert (tree.loggers.get("a.b"), tree.loggers.get("a")) == (LoggerLevel("WARN", 2), LoggerLevel("WARN", 3))


def test_an_unused_logger_exists_once_it_is_set() -> None:
    tree = Tree("a")
    assert tree.loggers.get("no.such") is None
    assert tree.loggers.set("no.such", "OFF") == ["no.such"]
    assert tree.loggers.get("no.such") == LoggerLevel("OFF", 1)
    # What is only a place between two loggers is none.
    assert tree.loggers.get("no") is None
    # It inherits before it is there: nothing changes.
    tree.loggers.set("a", "DEBUG")
    assert tree.loggers.set("a.b", "DEBUG") == []


@pytest.mark.parametrize("word", ["ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"])
def test_every_level_is_returned_as_it_was_set(word: str) -> None:
    tree = Tree("a.b")
    tree.loggers.set("a", word.lower())
    assert tree.words()["a.b"] == word
    assert tree.loggers.set("a", f" {word} ") == []


def test_a_logger_that_is_off_is_not_listed_and_changes_when_it_is_switched_off_again() -> None:
    tree = Tree("a.b", "ab")
    assert tree.loggers.set("a", "off") == tree.loggers.set("a", "OFF") == ["a", "a.b"]
    assert tree.words() == {"ab": "INFO", "root": "INFO"}
    assert tree.loggers.get("a.b") == LoggerLevel("OFF", 2)
    assert tree.loggers.set("ab", "OFF") == ["ab"]
    assert {"a", "a.b", "ab", "root"} <= set(tree.loggers.set("ROOT", "OFF"))
    assert not tree.words().keys() & {"a", "a.b", "ab", "root"}


def test_debug_and_trace_are_two_words_for_one_number() -> None:
    tree = Tree("a")
    tree.loggers.set("a", "DEBUG")
    assert tree.loggers.set("a", "TRACE") == ["a"]
    assert tree.words()["a"] == "TRACE"
    # Other code has set it since, so its number counts.
    tree.manager.getLogger("a").setLevel(logging.WARNING)
    assert tree.words()["a"] == "WARN"


def test_numbers_between_words_are_the_next_word() -> None:
    tree = Tree("a", "b", "c")
    for name, number in (("a", 25), ("b", 5), ("c", 90)):
        tree.manager.getLogger(name).setLevel(number)
    assert tree.words() == {"a": "WARN", "b": "DEBUG", "root": "INFO"}
    assert tree.loggers.get("c") == LoggerLevel("OFF", None)


@pytest.mark.parametrize("name", ["root", "ROOT"])
def test_the_root_is_everything_but_keeps_libraries_quiet(name: str) -> None:
    tree = Tree("connector", "aiokafka.cluster", "psycopg.pq", "uvicorn")
    tree.loggers.set("connector", "ERROR")
    tree.loggers.set("uvicorn", "TRACE")
    assert {"connector", "root", "aiokafka.cluster"} < set(tree.loggers.set(name, "WARN"))
    words = tree.words()
    assert (words["root"], words["connector"], words["aiokafka.cluster"], words["uvicorn"]) == ("WARN", "WARN", "FATAL", "WARN")
    assert tree.loggers.set(name, "INFO") == ["connector", "root"]
    tree.loggers.set(name, "DEBUG")
    words = tree.words()
    assert (words["connector"], words["aiokafka.cluster"], words["uvicorn"]) == ("DEBUG", "INFO", "WARN")
    assert tree.loggers.get("ROOT") == tree.loggers.get("root")


def test_names_of_java_move_ours() -> None:
    tree = Tree(
        "connector", "connector.io.postgres.catalog", "connect_api.front", "workers.herder.herder", "workers.stores.topic_log", "aiokafka"
    )
    changed = tree.loggers.set("io.debezium", "DEBUG")
    assert changed == ["connector", "connector.io.postgres.catalog", "io.debezium"]
    assert tree.loggers.set("io.debezium.connector.postgresql.connection", "WARN") == [
        "connector.io",
        "connector.io.postgres.catalog",
        "io.debezium.connector.postgresql.connection",
    ]
    tree.loggers.set("org.apache.kafka.connect", "ERROR")
    words = tree.words()
    assert (words["workers.herder.herder"], words["workers.stores.topic_log"], words["connect_api.front"]) == ("ERROR",) * 3
    assert (words["connector"], words["connector.io.postgres.catalog"], words["aiokafka"]) == ("DEBUG", "WARN", "INFO")


@each_case(
    ("name", "ours"),
    [
        ("io.debezium", ["connector"]),
        ("io", ["connector"]),
        ("io.debezium.connector.postgresql", ["connector"]),
        ("io.debezium.connector.postgresql.PostgresStreamingChangeEventSource", ["connector.runner.streaming"]),
        ("org.apache.kafka.connect", ["connect_api", "workers"]),
        ("org.apache.kafka.connect.runtime.rest", ["connect_api"]),
        ("org.apache.kafka", ["aiokafka", "connect_api", "workers"]),
        ("io.debezium.connector.mysql", []),
        ("io.debeziu", []),
        ("connector", []),
    ],
)
def test_meaning_of_a_name(name: str, ours: list[str]) -> None:
    assert stands_for(name) == ours


def test_the_modules_for_java_s_loggers_exist() -> None:
    for ours in {name for names in JAVA.values() for name in names}:
        importlib.import_module(ours)


def test_words_that_are_none_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    tree = Tree("a")
    with pytest.raises(ValueError, match="SILLY"):
        tree.loggers.set("a", "SILLY")
    tree.loggers.follow("a", "SILLY")
    assert "unknown log level ignored" in caplog.text
    tree.loggers.follow("a", "Warning")
    assert tree.words() == {"a": "WARN", "root": "INFO"}


@each_case("name", ["aiokafka", "aiokafka.producer", "psycopg", "psycopg.pq", "org.apache.kafka.clients", "org.postgresql", "org"])
@each_case("word", ["ALL", "TRACE", "DEBUG"])
def test_libraries_that_log_secrets_stay_at_info(name: str, word: str) -> None:
    tree = Tree("aiokafka.producer.producer", "psycopg.pq", "connector")
    tree.loggers.set("root", "DEBUG")
    tree.loggers.set(name, word)
    for logger in ("aiokafka", "aiokafka.producer.producer", "psycopg", "psycopg.pq"):
        assert not tree.manager.getLogger(logger).isEnabledFor(logging.DEBUG)
    assert {reported for logger, reported in tree.words().items() if logger.startswith(("aiokafka", "psycopg"))} <= {"INFO", "WARN"}
    tree.loggers.set(name, "ERROR")
    assert tree.manager.getLogger("connector").isEnabledFor(logging.DEBUG)
