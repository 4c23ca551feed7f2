"""Forms of requests of which there is no recording. What is expected follows from the sources of the agent 2.2.9."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from workers.telemetry.jolokia.answers import Jolokia
from workers.telemetry.mbean import MBean, Operation

A = "d:connector=a,type=m"
NAMES = {"type": "read", "mbean": A}
VALUES: dict[str, Any] = {"x": 1.0, "on": True, "map": {"k": {"z": 7}, "a/b!": "slash", "other": {}}, "list": ["p", "q"], "none": None}


def beans() -> list[MBean]:
    return [
        MBean("d", (("type", "m"), ("connector", "a")), VALUES, (Operation("signal", ("java.lang.String",), lambda _text: None),)),
        MBean("d", (("type", "m"), ("connector", "b")), {"x": 1e7, "count": 12}),
        MBean("d", (("type", "empty"),), {}),
    ]


AGENT = Jolokia(beans, lambda: 5.0, {})


async def get(path: str, **options: str) -> Any:
    return orjson.loads((await AGENT.get(path, options))[1])


async def post(given: Any) -> Any:
    return orjson.loads((await AGENT.post(orjson.dumps(given), {}))[1])


async def test_an_empty_part_at_the_end_of_a_path_is_none() -> None:
    assert (await get(f"read/{A}/x/"))["value"] == 1.0
    assert (await get(f"read/{A}/"))["value"] == VALUES
    assert (await get("list/d/"))["request"] == {"type": "list", "path": "d"}
    assert (await get(f"read/{A}/x//"))["value"] is None


async def test_all_attributes() -> None:
    for attribute in ([], [None], None, ""):
        answer = await post({**NAMES, "attribute": attribute})
        assert (answer["value"], answer["request"]) == (VALUES, NAMES)
    assert (await get(f"read/{A}/*"))["value"] == VALUES
    assert (await get(f"read/{A}/*/x"))["value"] == 1.0


@pytest.mark.parametrize(
    ("attribute", "echo", "value"),
    [
        (["x"], "x", {"x": 1.0}),
        (["x", "on"], ["x", "on"], {"x": 1.0, "on": True}),
        ("x,on", ["x", "on"], {"x": 1.0, "on": True}),
        ("x,", "x", 1.0),
    ],
)
async def test_attributes_of_a_post(attribute: object, echo: object, value: object) -> None:
    answer = await post({**NAMES, "attribute": attribute})
    assert (answer["request"]["attribute"], answer["value"]) == (echo, value)


@pytest.mark.parametrize("attribute", ["*", r"x\,on"])
async def test_attributes_that_do_not_exist(attribute: str) -> None:
    assert (await post({**NAMES, "attribute": attribute}))["status"] == 404


async def test_attributes_that_are_no_names() -> None:
    answer = await post({**NAMES, "attribute": 5})
    assert answer["error"] == (
        "java.lang.IllegalArgumentException : Attribute names must be either a String, Collection or null (and not class java.lang.Long)"
    )
    assert (await post({**NAMES, "attribute": ["x", None]}))["status"] == 400


async def test_a_pattern_of_mbeans() -> None:
    both = {A: {"x": 1.0}, "d:connector=b,type=m": {"x": 1e7}}
    assert (await post({"type": "read", "mbean": "d:type=m,*", "attribute": ["x"]}))["value"] == both
    assert (await get("read/d:type=m,*/*"))["value"].keys() == both.keys()
    assert (await get("read/d:*/*/*/x"))["value"] == {A: 1.0, "d:connector=b,type=m": 1e7}
    assert (await get("read/d:*/*/x"))["value"] is None
    assert (await get(f"read/d:*/*/{A}/x"))["value"] == 1.0
    none = "java.lang.IllegalArgumentException : No matching attributes {} found on MBeans [{}]"
    assert (await get("read/d:type=empty,*"))["error"] == none.format("null", "d:type=empty")
    answer = await post({"type": "read", "mbean": "d:type=empty,*", "attribute": []})
    assert answer["error"] == none.format("[]", "d:type=empty")


async def test_errors_are_ignored_in_lists_of_attributes_only() -> None:
    assert (await get(f"read/{A}/nope", ignoreErrors="true"))["status"] == 404
    text = "ERROR: No such attribute: nope (class javax.management.AttributeNotFoundException)"
    answer = await post({**NAMES, "attribute": ["nope"], "config": {"ignoreErrors": True}})
    assert answer["value"] == {"nope": text}


async def test_the_request_is_not_repeated() -> None:
    assert "request" not in await get(f"read/{A}/x", includeRequest="false")
    assert "request" not in await post({**NAMES, "attribute": "nope", "config": {"includeRequest": False}})


async def test_the_echoed_path_is_escaped() -> None:
    answer = await get(f"read/{A}/map/a!/b!!")
    assert (answer["value"], answer["request"]["path"]) == ("slash", "a!/b!!")


async def test_a_wildcard_in_a_path_leaves_out_members_without_the_rest() -> None:
    answer = await get(f"read/{A}/map/*/z")
    assert (answer["value"], answer["request"]["path"]) == ({"k": 7}, "*/z")
    assert (await get(f"read/{A}/map/*/nope"))["value"] is None
    assert (await get(f"read/{A}/list/*/nope"))["value"] is None
    assert (await get(f"read/{A}/none/nope"))["value"] is None
    answer = await get(f"read/{A}/map/*")
    assert answer["error"] == "java.lang.IllegalArgumentException : Path '*' must not end with a wildcard"


async def test_values_below_the_depth_are_texts() -> None:
    assert (await get(f"read/{A}/x", maxDepth="1"))["value"] == 1.0
    texts = {"x": "1.0", "on": "true", "map": "{k={z=7}, a/b!=slash, other={}}", "list": "[p, q]", "none": None}
    assert (await get(f"read/{A}", maxDepth="1"))["value"] == texts
    assert (await get(f"read/{A}/map", maxDepth="1"))["value"] == {"k": "{z=7}", "a/b!": "slash", "other": "{}"}
    assert (await get(f"read/{A}/list", maxDepth="2"))["value"] == ["p", "q"]
    answer = await get("read/d:connector=b,*", maxDepth="2")
    assert answer["value"] == {"d:connector=b,type=m": {"x": "1.0E7", "count": "12"}}
    answer = await get("read/d:connector=b,*/count", maxDepth="1")
    assert answer["value"] == {"d:connector=b,type=m": "{count=12}"}


async def test_the_depth_of_a_list() -> None:
    assert (await get("list", maxDepth="1"))["value"] == {"d": "1"}
    assert (await get("list", maxDepth="2"))["value"]["d"] == {"connector=a,type=m": "1", "connector=b,type=m": "1", "type=empty": "1"}
    assert (await get("list", maxDepth="3"))["value"]["d"]["connector=a,type=m"]["op"] == "1"
    assert (await get("list/d/type=empty", maxDepth="1"))["value"]["class"] == "understudy"
    assert (await get("list/d/connector=a,type=m/op", maxDepth="1"))["value"] == {"signal": "1"}
    assert (await get("list/d/connector=a,type=m/nope"))["status"] == 400


async def test_names_in_their_own_order() -> None:
    assert (await get("search/d:*", canonicalNaming="false"))["value"] == ["d:type=m,connector=a", "d:type=m,connector=b", "d:type=empty"]
    assert A in (await post({"type": "search", "mbean": "d:*", "config": {"canonicalNaming": None}}))["value"]


async def test_an_argument_that_is_a_star_is_null() -> None:
    assert (await get(f"exec/{A}/signal/*"))["request"]["arguments"] == [None]


@pytest.mark.parametrize("name", [5, None, "d:x=" + "a" * 4_096])
async def test_what_is_no_name(name: object) -> None:
    assert (await post({"type": "read", "mbean": name}))["status"] == 400
    assert (await get("read/*"))["error"] == "java.lang.IllegalArgumentException : Objectname can not be null"


@pytest.mark.parametrize("given", [{"target": {"url": "service:jmx:rmi://h"}}, {"options": {"target": {"url": "service:jmx:rmi://h"}}}])
async def test_a_request_to_another_process_is_refused(given: dict[str, Any]) -> None:
    for request in ({**NAMES, **given}, {"type": "list", **given}, {**NAMES, "type": "exec", "operation": "signal", **given}):
        answer = await post(request)
        assert (answer["status"], answer["error"]) == (
            500,
            "java.lang.UnsupportedOperationException : This agent is no proxy: requests with a target are not supported",
        )
