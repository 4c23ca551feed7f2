"""The generator of the comparison of converters makes the same cases for a seed, and the comparison sees what differs."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Final

from connector.record.schema import INT32, STRING, Schema
from tests.differential.converters.apicurio import make_mapping
from tests.differential.converters.areas import AREAS, Choice
from tests.differential.converters.cases import Case, compared, make_case
from tests.differential.converters.comparison import difference
from tests.differential.converters.numbers import PLAIN
from tests.differential.converters.own import own_answer
from tests.differential.converters.reading import make_document, own_reading
from tests.support.each_case import each_case

JSON: Final = Choice("org.apache.kafka.connect.json.JsonConverter", {"schemas.enable": "false"}, "value")


@each_case("area", list(AREAS))
def test_a_seed_makes_the_same_cases(area: str) -> None:
    def requests(seed: int) -> list[dict[str, Any]]:
        return [make_case(area, seed, number, PLAIN).request() for number in range(20)]

    assert requests(7) == requests(7)
    assert requests(7) != requests(8)


def test_a_seed_makes_the_same_documents_and_mappings() -> None:
    assert make_document(7, 3, PLAIN) == make_document(7, 3, PLAIN) != make_document(8, 3, PLAIN)
    assert make_mapping(7, 3, PLAIN) == make_mapping(7, 3, PLAIN) != make_mapping(8, 3, PLAIN)


def test_documents_are_read_in_the_form_of_the_java_program() -> None:
    found = own_reading(b'{"schema":{"type":"double","optional":false},"payload":1.5}')
    assert found["schema"]["type"] == "float64"
    assert found["value"] == ["double", "3ff8000000000000"]


def bytes_of(text: bytes | None) -> dict[str, Any]:
    return {"bytes": None if text is None else b64encode(text).decode(), "headers": []}


def one(schema: Schema, value: object, *answers: dict[str, Any]) -> str | None:
    return compared(Case(1, JSON, [(schema, value)]), {"answers": list(answers)})


def test_equal_answers_do_not_differ() -> None:
    assert one(INT32, 5, bytes_of(b"5")) is None
    assert one(INT32, None, {"error": "DataException", "text": "null"}) is None


def test_other_bytes_and_errors_differ() -> None:
    assert (one(INT32, 5, bytes_of(b"6")) or "").startswith("bytes:")
    assert (one(STRING, "x", bytes_of(None)) or "").startswith("bytes:")
    assert (one(INT32, 5, {"error": "DataException", "text": "no"}) or "").startswith("original fails:")
    assert (one(INT32, None, bytes_of(b"null")) or "").startswith("own fails:")


def test_a_null_that_needs_no_schema_here_is_no_difference_and_another_null_is() -> None:
    failed = {"error": "DataException", "text": "no"}
    own: dict[str, Any] = {"answers": [{"bytes": None, "headers": []}]}
    assert difference([None], own, {"answers": [failed]}) is None
    assert (difference([5], own, {"answers": [failed]}) or "").startswith("original fails:")


def test_ids_of_schemas_differ_unless_a_record_failed() -> None:
    own: dict[str, Any] = {"answers": [{"bytes": b"\0\0\0\0\1\x0a", "headers": []}]}
    other = bytes_of(b"\0\0\0\0\2\x0a")
    assert (difference([5], own, {"answers": [other]}) or "").startswith("bytes:")
    failed = {"error": "DataException", "text": "no"}
    assert difference([5, 6], {"answers": [*own["answers"], failed]}, {"answers": [other, failed]}) is None
    text = {"answers": [{"bytes": b'{"a":1}', "headers": []}, failed]}
    assert (difference([5, 6], text, {"answers": [bytes_of(b'{"b":2}'), failed]}) or "").startswith("bytes:")


def test_headers_differ() -> None:
    own: dict[str, Any] = {"answers": [{"bytes": b"x", "headers": [("a", b"1")]}]}
    assert difference([5], own, {"answers": [{**bytes_of(b"x"), "headers": [["a", "MQ=="]]}]}) is None
    assert (difference([5], own, {"answers": [bytes_of(b"x")]}) or "").startswith("headers:")


@each_case("name", ["Boolean", "Double", "Float", "Integer", "Long", "Short", "ByteArray"])
def test_converters_of_one_type_mostly_get_this_type(name: str) -> None:
    cases = [make_case("plain", 1, number, PLAIN) for number in range(1500)]
    answers = [
        answer
        for case in cases
        if case.choice.name == f"org.apache.kafka.connect.converters.{name}Converter"
        for answer in own_answer(case.choice, case.records)["answers"]
    ]
    assert sum("bytes" in answer for answer in answers) > len(answers) / 2 > 10


def test_a_registered_schema_differs_by_its_text() -> None:
    choice = Choice("io.confluent.connect.avro.AvroConverter", {"schema.registry.url": "mock://x"}, "value")
    case = Case(1, choice, [(INT32, 5)])
    registered = {"subject": "server.public.t-value", "id": 1, "type": "AVRO", "text": '"int"', "references": []}
    answer = {"answers": [bytes_of(b"\0\0\0\0\1\x0a")], "registered": [registered]}
    assert compared(case, answer) is None
    assert (compared(case, answer | {"registered": [registered | {"text": '"long"'}]}) or "").startswith("registered text:")
    assert (compared(case, answer | {"registered": []}) or "") != ""
