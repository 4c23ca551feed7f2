"""Answers requests of Jolokia's protocol from a worker's MBeans."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

import orjson

from connect_api.bodies import DEPTH, deeper
from connector.log import EventLog
from workers.telemetry.jolokia.description import described
from workers.telemetry.jolokia.part import ABSENT, part_of
from workers.telemetry.jolokia.present_beans import PresentBeans
from workers.telemetry.jolokia.request import BadRequestError, JolokiaRequest, UnknownTypeError, from_object, from_path
from workers.telemetry.loop_turns import Turn
from workers.telemetry.mbean import Attribute, MBean, MBeanTable, OperationError
from workers.telemetry.name_pattern import NamePattern

LOG: Final = EventLog(__name__)

JSON: Final = "application/json; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"
AGENT: Final = "2.2.9"
PROTOCOL: Final = "8.0"

_MOST: Final = 1_000
"""The most requests of one bulk request."""
_LARGEST: Final = 33_554_432
"""How many bytes an answer may have when the next request of a bulk request is answered."""
_ALL: Final = 1_000
"""More levels than any value has."""
_SIGNED: Final = re.compile(r"([^(]+)\((.*)\)")

Answer = tuple[int, bytes, str]
"""HTTP status, body, content type. As with the agent, an error of a request is in the body, and the HTTP status is 200."""


class _Failure(Exception):  # noqa: N818 -- a part of the answer
    def __init__(self, java_class: str, message: str, status: int) -> None:
        super().__init__(message)
        self.java_class = java_class
        self.message = message
        self.status = status


class Jolokia:
    """Answers for one worker. ``each`` yields its MBeans, ``seconds`` is the wall clock, and ``server`` is in the answer to ``version``.

    With many connectors an answer is long work for an event loop that passes events on, so it lets others run each few milliseconds.
    """

    def __init__(
        self, each: Callable[[], Iterable[MBean | MBeanTable]], seconds: Callable[[], float], server: Mapping[str, object]
    ) -> None:
        self._each = each
        self._seconds = seconds
        self._server = server

    async def get(self, path: str, options: Mapping[str, str]) -> Answer:
        """Answer a request that is all in its path, which begins after ``/jolokia/``."""
        return await self._answers((from_path(each, options) for each in [path]), bulk=False)

    async def post(self, body: bytes, options: Mapping[str, str]) -> Answer:
        """Answer a request, or a list of requests, in the body. None is executed if one of them cannot be read."""
        try:
            given = orjson.loads(body)
        except orjson.JSONDecodeError:
            return 400, b"400 (Bad Request)\n\nInvalid JSON request\n", TEXT
        if not isinstance(given, dict | list):
            return 400, b"400 (Bad Request)\n\nInvalid JSON Request. Expected Object or Array\n", TEXT
        if deeper(given, DEPTH):
            return _json(_error({}, _Failure(_ILLEGAL, f"A request may nest objects and arrays {DEPTH} deep", 400)))
        if isinstance(given, dict):
            return await self._answers((from_object(each, options) for each in [given]), bulk=False)
        if len(given) > _MOST:
            return _json(_error({}, _Failure(_ILLEGAL, f"A bulk request may have {_MOST} requests", 400)))
        return await self._answers((from_object(_object(each, given), options) for each in given), bulk=True)

    def other_method(self, method: str) -> Answer:
        """Answer a method that the agent does not support."""
        return _json(_error({}, _Failure(_ILLEGAL, f"HTTP Method {method} is not supported.", 400)))

    async def _answers(self, given: Iterable[JolokiaRequest], *, bulk: bool) -> Answer:
        turn = Turn()
        requests: list[JolokiaRequest] = []
        try:
            for request in given:
                requests.append(request)
                await turn.pass_on()
        except UnknownTypeError as problem:
            return _unknown(problem)
        except ValueError as problem:
            return _json(_error({}, _invalid(problem)))
        beans = PresentBeans(self._each, turn)
        found: list[bytes] = []
        size = 0
        for request in requests:
            answer = self._full(request) if size >= _LARGEST else await self._answer(request, beans, turn)
            found.append(_dumped(answer))
            size += len(found[-1])
            await turn.pass_on()
        return 200, b"[" + b",".join(found) + b"]" if bulk else found[0], JSON

    def _full(self, request: JolokiaRequest) -> dict[str, Any]:
        message = f"The answer has {_LARGEST} bytes, and this request was not executed. Send fewer at once"
        return _error(_echo(request), _Failure(_STATE, message, 413))

    async def _answer(self, request: JolokiaRequest, beans: PresentBeans, turn: Turn) -> dict[str, Any]:
        echo = _echo(request)
        if request.proxied:
            return _error(echo, _Failure(_UNSUPPORTED, "This agent is no proxy: requests with a target are not supported", 500))
        try:
            value = await _HANDLERS[request.kind](self, request, beans, turn)
        except _Failure as failure:
            return _error(echo, failure)
        return {**echo, "value": value, "status": 200, "timestamp": int(self._seconds())}

    async def _version(self, _request: JolokiaRequest, _beans: PresentBeans, _turn: Turn) -> object:
        identity = str(self._server.get("agent_id", ""))
        return {
            "agent": AGENT,
            "protocol": PROTOCOL,
            "details": {"agent_version": AGENT, **self._server},
            "id": identity,
            "config": {"agentId": identity, "agentContext": "/jolokia", "maxDepth": "15", "maxObjects": "0", "maxCollectionSize": "0"},
            "info": {"proxy": {}, "jmx": {}},
        }

    async def _search(self, request: JolokiaRequest, beans: PresentBeans, _turn: Turn) -> object:
        found = await beans.matching(_named(request))
        return list(found) if request.canonical else [bean.name for bean in found.values()]

    async def _read(self, request: JolokiaRequest, beans: PresentBeans, turn: Turn) -> object:
        name = _named(request)
        found = await beans.matching(name)
        if name.is_pattern:
            return await self._read_all(request, found, turn)
        if not found:
            raise _Failure(_NO_INSTANCE, name.written, 404)
        [bean] = found.values()
        value: object
        if isinstance(request.attribute, str):
            value = _attribute(bean, request.attribute, ignore=False)
        else:
            value = {each: _attribute(bean, each, ignore=request.ignores_errors) for each in request.attribute or bean.attributes}
        part = part_of(value, request.path, request.depth)
        return None if part is ABSENT else part

    async def _read_all(self, request: JolokiaRequest, found: Mapping[str, MBean], turn: Turn) -> object:
        if not found:
            raise _Failure(_NO_INSTANCE, f"No MBean with pattern {_named(request).canonical} found for reading attributes", 404)
        wanted = (request.attribute,) if isinstance(request.attribute, str) else request.attribute
        names = None if wanted is None else frozenset(wanted)
        values: dict[str, Mapping[str, Attribute]] = {}
        for canonical, bean in found.items():
            shown = {key: value for key, value in bean.attributes.items() if names is None or key in names}
            if shown:
                values[canonical if request.canonical else bean.name] = shown
            await turn.pass_on()
        if not values:
            attributes = "null" if wanted is None else f"[{', '.join(wanted)}]"
            beans = ", ".join(bean.name for bean in found.values())
            raise _Failure(_ILLEGAL, f"No matching attributes {attributes} found on MBeans [{beans}]", 400)
        first, *inner = request.path or (None,)
        parts: dict[str, object] = {}
        for key, value in values.items():
            if first in (None, key) and (part := part_of(value, inner, request.depth, 1)) is not ABSENT:
                parts[key] = part
            await turn.pass_on()
        return parts.get(first) if first is not None else parts or None

    async def _list(self, request: JolokiaRequest, beans: PresentBeans, turn: Turn) -> object:
        path = tuple("*" if part is None else part for part in request.path)
        levels = request.depth - 2 + len(path) if request.depth else _ALL  # of an MBean
        domains: dict[str, dict[str, object]] = {}
        for canonical, bean in (await beans.all()).items():
            keys = canonical.partition(":")[2]
            if all(part == own for part, own in zip(path[:2], (bean.domain, keys), strict=False)):
                shown = _cut(described(bean), levels) if levels > 0 else "1"
                # The JSON of thousands of descriptions is made one by one: at once it would be a long turn.
                domains.setdefault(bean.domain, {})[keys] = shown if len(path) > 2 else orjson.Fragment(orjson.dumps(shown))
            await turn.pass_on()
        if not domains and len(path) > 1:
            raise _Failure(_ILLEGAL, f"No MBean '{':'.join(path[:2])}' found", 400)
        found: object = domains
        for part in path if domains else ():
            found = found.get(part) if isinstance(found, dict) else None
            if found is None:
                raise _Failure(_ILLEGAL, f"Invalid path {'/'.join(path)}", 400)
        return _cut(found, request.depth or _ALL)

    async def _exec(self, request: JolokiaRequest, beans: PresentBeans, _turn: Turn) -> object:
        name = _named(request)
        bean = None if name.is_pattern else await beans.named(name)
        if bean is None:
            raise _Failure(_NO_INSTANCE, name.written, 404)
        signed = _SIGNED.fullmatch(request.operation)
        plain = signed[1] if signed else request.operation
        shown = name.canonical
        operation = next((each for each in bean.operations if each.name == plain), None)
        if operation is None:
            raise _Failure(_ILLEGAL, f"No operation {plain} found on MBean {shown}", 400)
        signature = ",".join(operation.parameters)
        if signed and signed[2] != signature:
            raise _Failure(_ILLEGAL, f"No operation {request.operation} on MBean {shown} exists. Known signatures: ({signature})", 400)
        if len(request.arguments) != len(operation.parameters):
            raise _Failure(
                _ILLEGAL,
                f"Invalid number of operation arguments. Operation {plain} on {shown} requires {len(operation.parameters)} parameters, "
                f"not {len(request.arguments)} as given",
                400,
            )
        beans.changed()
        try:
            operation.call(*(_text(each) for each in request.arguments))
        except OperationError as problem:
            raise _Failure("javax.management.MBeanException", str(problem), 500) from None
        LOG.info("mbean operation executed", mbean=shown, operation=plain)
        return None

    async def _write(self, request: JolokiaRequest, beans: PresentBeans, _turn: Turn) -> object:
        if not await beans.matching(_named(request)):
            raise _Failure(_NO_INSTANCE, _named(request).written, 404)
        raise _Failure(_UNSUPPORTED, "Set not allowed.", 500)

    async def _notification(self, _request: JolokiaRequest, _beans: PresentBeans, _turn: Turn) -> object:
        raise _Failure(_UNSUPPORTED, "Notifications of JMX are not supported", 500)


_ILLEGAL: Final = "java.lang.IllegalArgumentException"
_STATE: Final = "java.lang.IllegalStateException"
_UNSUPPORTED: Final = "java.lang.UnsupportedOperationException"
_NO_INSTANCE: Final = "javax.management.InstanceNotFoundException"
_NO_ATTRIBUTE: Final = "javax.management.AttributeNotFoundException"
_HANDLERS: Final[Mapping[str, Callable[[Jolokia, JolokiaRequest, PresentBeans, Turn], Awaitable[object]]]] = {
    "version": Jolokia._version,  # noqa: SLF001 (the class's own)
    "search": Jolokia._search,  # noqa: SLF001
    "read": Jolokia._read,  # noqa: SLF001
    "list": Jolokia._list,  # noqa: SLF001
    "exec": Jolokia._exec,  # noqa: SLF001
    "write": Jolokia._write,  # noqa: SLF001
    "notification": Jolokia._notification,  # noqa: SLF001
}


def _named(request: JolokiaRequest) -> NamePattern:
    assert request.name is not None  # noqa: S101 (a request of these types has one)
    return request.name


def _attribute(bean: MBean, name: str, *, ignore: bool) -> Attribute:
    if name in bean.attributes:
        return bean.attributes[name]
    kafka = bean.domain.startswith("kafka.")
    message = f"Could not find attribute {name}" if kafka else f"No such attribute: {name}"
    if ignore:
        return f"ERROR: {message} (class {_NO_ATTRIBUTE})"
    raise _Failure(_NO_ATTRIBUTE, message, 404)


def _object(given: Any, bulk: object) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        text = given if isinstance(given, str) else orjson.dumps(given).decode()
        raise BadRequestError(f"Not a request within the list of requests {orjson.dumps(bulk).decode()}. Expected map, but found: {text}")
    return given


def _cut(value: object, depth: int) -> object:
    if not isinstance(value, dict):
        return value
    return {key: _cut(part, depth - 1) for key, part in value.items()} if depth else "1"


def _text(argument: object) -> str | None:
    """An argument of the type String: an object is its JSON, as the agent converts it."""
    if argument is None or isinstance(argument, str):
        return argument
    return orjson.dumps(argument).decode()


def _invalid(problem: ValueError) -> _Failure:
    return _Failure(_ILLEGAL, str(problem) if isinstance(problem, BadRequestError) else f"Invalid object name. {problem}", 400)


def _echo(request: JolokiaRequest) -> dict[str, Any]:
    return {"request": request.echo()} if request.is_repeated else {}


def _error(echo: Mapping[str, Any], failure: _Failure) -> dict[str, Any]:
    return {**echo, "error_type": failure.java_class, "error": f"{failure.java_class} : {failure.message}", "status": failure.status}


def _unknown(problem: UnknownTypeError) -> Answer:
    return 400, f"400 (Bad Request)\n\nNo type with name '{problem}' exists\n".encode(), TEXT


def _json(value: object) -> Answer:
    return 200, _dumped(value), JSON


def _dumped(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
