"""Answers requests of Jolokia's protocol from a worker's MBeans."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

from connector.log import EventLog
from workers.telemetry.jolokia.description import described
from workers.telemetry.jolokia.request import BadRequestError, JolokiaRequest, UnknownTypeError, from_object, from_path
from workers.telemetry.mbean import Attribute, MBean, OperationError
from workers.telemetry.name_pattern import NamePattern, canonical_name

LOG: Final = EventLog(__name__)

JSON: Final = "application/json; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"
AGENT: Final = "2.2.9"
PROTOCOL: Final = "8.0"

_MOST: Final = 1_000
"""The most requests of one bulk request."""
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
    """Answers for one worker. ``seconds`` is the wall clock. ``server`` describes the worker in the answer to ``version``."""

    def __init__(self, beans: Callable[[], Iterable[MBean]], seconds: Callable[[], float], server: Mapping[str, object]) -> None:
        self._beans = beans
        self._seconds = seconds
        self._server = server

    def get(self, path: str, options: Mapping[str, str]) -> Answer:
        """Answer a request that is all in its path, which begins after ``/jolokia/``."""
        try:
            return _json(self._answer(from_path(path, options)))
        except UnknownTypeError as problem:
            return _unknown(problem)
        except ValueError as problem:
            return _json(_error({}, _invalid(problem)))

    def post(self, body: bytes, options: Mapping[str, str]) -> Answer:
        """Answer a request, or a list of requests, in the body."""
        try:
            given = orjson.loads(body)
        except orjson.JSONDecodeError:
            return 400, b"400 (Bad Request)\n\nInvalid JSON request\n", TEXT
        if not isinstance(given, dict | list):
            return 400, b"400 (Bad Request)\n\nInvalid JSON Request. Expected Object or Array\n", TEXT
        if isinstance(given, list) and len(given) > _MOST:
            return _json(_error({}, _Failure(_ILLEGAL, f"A bulk request may have {_MOST} requests", 400)))
        try:
            found = [self._one(each, options) for each in (given if isinstance(given, list) else [given])]
        except UnknownTypeError as problem:
            return _unknown(problem)
        return _json(found if isinstance(given, list) else found[0])

    def other_method(self, method: str) -> Answer:
        """Answer a method that the agent does not support."""
        return _json(_error({}, _Failure(_ILLEGAL, f"HTTP Method {method} is not supported.", 400)))

    def _one(self, given: Any, options: Mapping[str, str]) -> dict[str, Any]:
        try:
            return self._answer(from_object(given, options))
        except UnknownTypeError:
            raise
        except ValueError as problem:
            return _error({}, _invalid(problem))

    def _answer(self, request: JolokiaRequest) -> dict[str, Any]:
        echo = {"request": request.echo()}
        try:
            value = _HANDLERS[request.kind](self, request)
        except _Failure as failure:
            return _error(echo, failure)
        return {**echo, "value": value, "status": 200, "timestamp": int(self._seconds())}

    def _version(self, _request: JolokiaRequest) -> object:
        identity = str(self._server.get("agent_id", ""))
        return {
            "agent": AGENT,
            "protocol": PROTOCOL,
            "details": {"agent_version": AGENT, **self._server},
            "id": identity,
            "config": {"agentId": identity, "agentContext": "/jolokia", "maxDepth": "15", "maxObjects": "0", "maxCollectionSize": "0"},
            "info": {"proxy": {}, "jmx": {}},
        }

    def _search(self, request: JolokiaRequest) -> object:
        name = _named(request)
        return [canonical_name(bean) if request.canonical else bean.name for bean in self._beans() if name.matches(bean)]

    def _read(self, request: JolokiaRequest) -> object:
        name = _named(request)
        found = [bean for bean in self._beans() if name.matches(bean)]
        if name.is_pattern:
            return _inner(self._read_all(request, name, found), request.path)
        if not found:
            raise _Failure(_NO_INSTANCE, name.written, 404)
        bean = found[0]
        if isinstance(request.attribute, str):
            return _inner(_attribute(bean, request.attribute, ignore=request.ignores_errors), request.path)
        wanted = bean.attributes if request.attribute is None else request.attribute
        return _inner({each: _attribute(bean, each, ignore=request.ignores_errors) for each in wanted}, request.path)

    def _read_all(self, request: JolokiaRequest, name: NamePattern, found: Sequence[MBean]) -> object:
        if not found:
            raise _Failure(_NO_INSTANCE, f"No MBean with pattern {name.canonical} found for reading attributes", 404)
        wanted = (request.attribute,) if isinstance(request.attribute, str) else request.attribute
        values: dict[str, object] = {}
        for bean in found:
            shown = {key: value for key, value in bean.attributes.items() if wanted is None or key in wanted}
            if shown:
                values[canonical_name(bean) if request.canonical else bean.name] = shown
        if not values and wanted is not None:
            names = ", ".join(bean.name for bean in found)
            raise _Failure(_ILLEGAL, f"No matching attributes [{', '.join(wanted)}] found on MBeans [{names}]", 400)
        return values

    def _list(self, request: JolokiaRequest) -> object:
        domains: dict[str, dict[str, object]] = {}
        for bean in self._beans():
            domains.setdefault(bean.domain, {})[canonical_name(bean).partition(":")[2]] = described(bean)
        found: object = domains
        for at, part in enumerate(request.path):
            inner = found.get(part) if isinstance(found, dict) else None
            if inner is None:
                if at == 0:
                    return {}
                name = ":".join(request.path[:2])
                raise _Failure(_ILLEGAL, f"No MBean '{name}' found" if at == 1 else f"Invalid path {'/'.join(request.path)}", 400)
            found = inner
        return _cut(found, request.depth) if request.depth else found

    def _exec(self, request: JolokiaRequest) -> object:
        name = _named(request)
        bean = next((each for each in self._beans() if name.matches(each)), None) if not name.is_pattern else None
        if bean is None:
            raise _Failure(_NO_INSTANCE, name.written, 404)
        signed = _SIGNED.fullmatch(request.operation)
        plain = signed[1] if signed else request.operation
        shown = canonical_name(bean)
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
        try:
            operation.call(*(_text(each) for each in request.arguments))
        except OperationError as problem:
            raise _Failure("javax.management.MBeanException", str(problem), 500) from None
        LOG.info("mbean operation executed", mbean=shown, operation=plain)
        return None

    def _write(self, request: JolokiaRequest) -> object:
        if not any(_named(request).matches(bean) for bean in self._beans()):
            raise _Failure(_NO_INSTANCE, _named(request).written, 404)
        raise _Failure("java.lang.UnsupportedOperationException", "Set not allowed.", 500)

    def _notification(self, _request: JolokiaRequest) -> object:
        raise _Failure("java.lang.UnsupportedOperationException", "Notifications of JMX are not supported", 500)


_ILLEGAL: Final = "java.lang.IllegalArgumentException"
_NO_INSTANCE: Final = "javax.management.InstanceNotFoundException"
_NO_ATTRIBUTE: Final = "javax.management.AttributeNotFoundException"
_HANDLERS: Final[Mapping[str, Callable[[Jolokia, JolokiaRequest], object]]] = {
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


def _inner(value: object, path: Sequence[str]) -> object:
    """Return the part of a value that the path names; None where there is none."""
    for part in path:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and len(part) < 10:
            value = value[int(part)] if int(part) < len(value) else None
        else:
            return None
    return value


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


def _error(echo: Mapping[str, Any], failure: _Failure) -> dict[str, Any]:
    return {**echo, "error_type": failure.java_class, "error": f"{failure.java_class} : {failure.message}", "status": failure.status}


def _unknown(problem: UnknownTypeError) -> Answer:
    return 400, f"400 (Bad Request)\n\nNo type with name '{problem}' exists\n".encode(), TEXT


def _json(value: object) -> Answer:
    return 200, orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS), JSON
