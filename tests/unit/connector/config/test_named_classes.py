"""Names that a property lists, and the properties that belong to each."""

from __future__ import annotations

import time

from connector.config.keys.named_classes import NamedClasses
from connector.config.packed import column_converters, topic_creation
from connector.io.kafka.sasl import jaas_options


def test_names_are_listed_once_in_their_order() -> None:
    assert list(NamedClasses(" b, a,,b ,")) == ["b", "a"]
    assert list(NamedClasses(None)) == []


def test_the_names_of_a_setting() -> None:
    names = NamedClasses("b,a.b,a,abc")
    assert names.owners("a.type") == ["a"]
    assert names.owners("a.b.type") == ["a.b", "a"]
    assert names.owners("a.") == ["a"]
    for setting in ("a", "abcd.type", "ab.type", ".a", ""):
        assert names.owners(setting) == []


def test_a_converter_has_the_properties_under_its_name() -> None:
    given = {"converters": "a.b,a", "a.type": "m:A", "a.b.type": "m:B", "a.b.x": "1", "ab.type": "m:C"}
    assert [(entry.name, entry.type, dict(entry.properties)) for entry in column_converters(given)] == [
        ("a.b", "m:B", {"type": "m:B", "x": "1"}),
        ("a", "m:A", {"type": "m:A", "b.type": "m:B", "b.x": "1"}),
    ]


def test_very_many_names_take_little_time() -> None:
    names = [f"c{number}" for number in range(20_000)]
    listed = ",".join(names)
    groups = {f"topic.creation.x{number}.partitions": "1" for number in range(20_000)}
    defaults = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    login = "a.PlainLoginModule required " + "a=b " * 100_000 + ";"
    began = time.process_time()
    assert len(column_converters({"converters": listed, **{f"{name}.type": "a:B" for name in names}})) == len(names)
    assert list(topic_creation({"topic.creation.groups": listed, **groups, **defaults})) == ["default"]
    assert jaas_options(login, "PLAIN")[1] == {"a": "b"}
    assert time.process_time() - began < 5
