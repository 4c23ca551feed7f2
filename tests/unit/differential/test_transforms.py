from __future__ import annotations

import json
from typing import Any

from connector.emulation import DEFAULT
from tests.differential.transforms.case import case
from tests.differential.transforms.comparison import differences
from tests.differential.transforms.understudy import Understudy

VERSION = DEFAULT.version
CONFIG = {"transforms": "a", "transforms.a.type": "org.apache.kafka.connect.transforms.Filter"}


def test_a_seed_and_a_number_make_one_case() -> None:
    assert [case(1, number, VERSION) for number in range(20)] == [case(1, number, VERSION) for number in range(20)]
    assert case(1, 0, VERSION) != case(2, 0, VERSION)


def test_only_named_transforms_are_chosen() -> None:
    config = case(1, 0, VERSION, "Cast")["config"]
    assert {value for name, value in config.items() if name.startswith("transforms.") and name.endswith(".type")} <= {
        "org.apache.kafka.connect.transforms.Cast$Key",
        "org.apache.kafka.connect.transforms.Cast$Value",
    }


def test_every_case_has_an_answer_that_equals_itself() -> None:
    ours = Understudy(DEFAULT)
    for number in range(20):
        asked = case(3, number, VERSION)
        answer = ours.answer(asked["config"], asked["records"])
        sentences = [each for each in differences(asked["config"], answer, answer) if "sentence" not in each.kind]
        assert sentences == []


def test_a_difference_has_its_place() -> None:
    expected, actual = _answer({"a": 1, "b": [1]}), _answer({"a": 1, "b": [2]})
    assert [(each.kind, each.expected, each.actual) for each in differences(CONFIG, expected, actual)] == [
        ("record 0 /value/1/b/0", "1", "2")
    ]


def test_the_order_of_the_members_of_a_schema_counts_and_that_of_a_map_does_not() -> None:
    texts = ('{"schema":{"type":"int32","optional":false},"payload":1}', '{"schema":{"optional":false,"type":"int32"},"payload":1}')
    one, other = (_record(value=text) for text in texts)
    assert [each.kind for each in differences(CONFIG, one, other)] == ["record 0 /value/0/0", "record 0 /value/0/1"]
    schema = '{"type":"map","keys":{"type":"string","optional":false},"values":{"type":"int32","optional":false},"optional":false}'
    one, other = (_record(value=f'{{"schema":{schema},"payload":{payload}}}') for payload in ('{"a":1,"b":2}', '{"b":2,"a":1}'))
    assert list(differences(CONFIG, one, other)) == []


def test_two_failures_are_equal_and_one_is_not() -> None:
    one, other = _outcome({"step": 0, "failed": "DataException: x"}), _outcome({"step": 0, "failed": "A sentence"})
    assert list(differences(CONFIG, one, other)) == []
    assert [each.kind for each in differences(CONFIG, one, _answer({"a": 1, "b": []}))] == ["record 0 fails"]
    later = _outcome({"step": 1, "failed": "A sentence"})
    assert [each.kind for each in differences(CONFIG, one, later)] == ["record 0 fails in another step"]


def test_known_failures_are_those_of_the_transform_that_has_them() -> None:
    def kinds(name: str, step: int, failed: str, actual: dict[str, Any]) -> list[str]:
        config = {"transforms": "a", "transforms.a.type": f"io.debezium.transforms.{name}"}
        return [each.kind for each in differences(config, _outcome({"step": step, "failed": failed}), actual)]

    null, scale = "NullPointerException: null", "DataException: Decimal value has mismatching scale for"
    works, later, same = (
        _answer({"a": 1, "b": []}),
        _outcome({"step": 1, "failed": "A sentence"}),
        _outcome({"step": 0, "failed": "A sentence"}),
    )
    assert kinds("SwapGeometryCoordinates", 0, null, works) == []
    assert kinds("SwapGeometryCoordinates", 0, null, later) == []
    assert kinds("SwapGeometryCoordinates", 0, null, same) == []
    assert kinds("TimezoneConverter", 0, null, works) == ["record 0 fails"]
    assert kinds("MaskField$Value", 1, scale, works) == []
    assert kinds("Cast$Value", 1, scale, works) == ["record 0 fails"]


def test_errors_of_properties_are_compared() -> None:
    one, other = {"validated": {"transforms.a.spec": ["x", ["wrong"]]}}, {"validated": {"transforms.a.spec": ["x", []]}, "records": []}
    assert [each.kind for each in differences(CONFIG, one, other)] == ["validation"]


def _answer(payload: dict[str, Any]) -> dict[str, Any]:
    items = {"type": "array", "items": {"type": "int32", "optional": False}, "optional": False, "field": "b"}
    schema = {"type": "struct", "fields": [{"type": "int32", "optional": False, "field": "a"}, items], "optional": False}
    return _record(value=json.dumps({"schema": schema, "payload": payload}))


def _record(value: str) -> dict[str, Any]:
    return _outcome({"topic": "t", "partition": None, "key": None, "value": value, "timestamp": 1, "headers": []})


def _outcome(record: dict[str, Any]) -> dict[str, Any]:
    return {"validated": {}, "records": [record]}
