"""The random calls of ``python -m tests.differential.rest`` are the same for a seed, and its comparison finds what differs."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from tests.differential.rest import calls, loggers, validations
from tests.differential.rest.call import Answer, Call, object_text
from tests.differential.rest.configurations import Catalog, Option, configuration
from tests.differential.rest.intended import is_intended
from tests.differential.rest.lifecycles import random_life
from tests.differential.rest.validations import Difference

CATALOG = Catalog(
    (Option("snapshot.mode", "STRING", ("initial", "never")), Option("max.batch.size", "INT", ("2048",)), Option("key.converter", "CLASS")),
    {"transformation": {"a.Router": (Option("regex", "STRING"),)}, "predicate": {"a.Holds": ()}},
)


def answer(body: Any, status: int = 200) -> Answer:
    return Answer(status, {}, json.dumps(body).encode())


def validation(errors: list[str], recommended: list[str], count: int = 0) -> dict[str, Any]:
    value = {"name": "p", "value": None, "errors": errors, "recommended_values": recommended, "visible": True}
    return {
        "name": "c",
        "error_count": count,
        "groups": [],
        "configs": [{"definition": {"name": "p", "documentation": "d"}, "value": value}],
    }


def with_another_member() -> dict[str, Any]:
    row: dict[str, Any] = validation(["e"], ["x"])["configs"][0]
    row["value"]["other"] = None
    return row


def test_a_seed_gives_the_same_configurations() -> None:
    def made(seed: int) -> list[str]:
        return [object_text(fields) for _, fields in validations.random_cases(seed, 50, CATALOG, {"name": "n"})]

    assert made(1) == made(1)
    assert made(1) != made(2)
    assert len(set(made(1))) > 45


def test_a_seed_gives_the_same_calls_and_lives() -> None:
    assert list(calls.random_calls(3, 50)) == list(calls.random_calls(3, 50))
    assert list(loggers.random_sequence(Random("3"), "x")) == list(loggers.random_sequence(Random("3"), "x"))
    assert random_life(Random("3")) == random_life(Random("3"))
    assert random_life(Random("3")) != random_life(Random("4"))


def test_each_random_configuration_is_a_json_object() -> None:
    for seed in range(200):
        assert isinstance(json.loads(object_text(configuration(Random(seed), CATALOG, {}))), dict)


def test_equal_validations_have_no_difference_and_texts_of_the_documentation_do_not_count() -> None:
    theirs, ours = validation(["e"], ["x"]), validation(["e"], ["x", "own.Plugin"])
    ours["configs"][0]["definition"]["documentation"] = "other"
    assert validations.compare(answer(theirs), answer(ours), frozenset({"own.Plugin"})) == []


@pytest.mark.parametrize(
    ("ours", "where"),
    [
        (validation([], ["x"]), "p value.errors"),
        (validation(["e"], ["y"]), "p value.recommended_values"),
        (validation(["e"], ["x"], 1), "error_count"),
        ({**validation(["e"], ["x"]), "configs": []}, "properties"),
        ({**validation(["e"], ["x"]), "configs": [with_another_member()]}, "p value.other"),
    ],
)
def test_each_difference_of_a_validation_is_found(ours: dict[str, Any], where: str) -> None:
    assert [found for found, _, _ in validations.compare(answer(validation(["e"], ["x"])), answer(ours))] == [where]


def test_other_statuses_are_compared_whole() -> None:
    assert validations.compare(answer({"message": "a"}, 400), answer({"message": "a"}, 400)) == []
    assert [where for where, _, _ in validations.compare(answer({"message": "a"}, 400), answer({"message": "b"}, 400))] == ["answer"]


def test_a_configuration_is_reduced_to_what_differs() -> None:
    fields = tuple((name, "1") for name in "abcdefgh")
    assert validations.reduced(fields, lambda part: {"c", "g"} <= {name for name, _ in part}) == (("c", "1"), ("g", "1"))


def test_only_documented_differences_are_intended() -> None:
    assert is_intended("connector.plugin.version value.recommended_values", ["3.6.3.Final"], ["2.3.4.Final", "3.6.3.Final", "3.7.0.Final"])
    assert not is_intended("tasks.max value.errors", ["a"], [])
    assert not is_intended("answer", (400, {"message": "a"}), (500, {"message": "a"}))
    failed = (500, {"message": "java.lang.NullPointerException: x"})
    assert is_intended("answer", failed, (200, {"error_count": 1}))
    assert not is_intended("answer", failed, (200, {"error_count": 0}))
    assert is_intended("database.sslmode value.errors", [], ["The sslmode is wrong"])
    assert not is_intended("database.sslmode definition.display_name", "SSL mode", "Mode")
    assert not is_intended("database.user value.errors", [], ["The certificate is wrong"])
    assert is_intended("transforms.a b.type value.value", None, "a:B")
    assert not is_intended("transforms.a.type definition.default_value", None, "a:B")


def test_a_count_of_errors_differs_by_itself_unless_errors_differ_by_intention() -> None:
    count: Difference = ("error_count", 0, 1)
    version: Difference = ("connector.plugin.version value.recommended_values", [], ["x"])
    assert validations.unintended([count]) == [count]
    assert validations.unintended([count, version]) == []
    assert validations.unintended([("tasks.max value.errors", [], ["x"]), count, version]) == [("tasks.max value.errors", [], ["x"]), count]


def test_calls_differ_by_status_or_body() -> None:
    assert calls.compare(answer({"a": 1}), answer({"a": 1})) == []
    assert [where for where, _, _ in calls.compare(answer({"a": 1}), answer({"a": 2}))] == ["body"]
    assert [where for where, _, _ in calls.compare(answer({"a": 1}), answer({"a": 1}, 404))] == ["status"]
    assert not calls.is_intended(Call("GET", "/"), answer({}, 200), answer({}, 404))
    page = Answer(400, {}, b"<h2>HTTP ERROR 400</h2>")
    assert calls.is_intended(Call("GET", "//"), page, answer({}, 400))
    assert not calls.is_intended(Call("GET", "//"), page, answer({}, 500))
    assert not calls.is_intended(Call("OPTIONS", "/"), Answer(200, {}, b""), answer({}, 404))
    validate = Call("PUT", "/connector-plugins/a/config/validate?x=y")
    assert calls.is_intended(validate, answer(validation([], ["x"])), answer(validation([], ["y"])))
    assert not calls.is_intended(validate, answer(validation([], ["x"])), answer({}, 400))


def test_of_a_logger_only_the_time_may_differ() -> None:
    now, never = {"level": "INFO", "last_modified": 5}, {"level": "INFO", "last_modified": None}
    assert loggers.compare(answer(now), answer({**now, "last_modified": 7})) == []
    assert len(loggers.compare(answer(now), answer(never))) == 1
