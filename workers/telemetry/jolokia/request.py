"""A request of Jolokia's protocol, from a path (``GET``) or a JSON object (``POST``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from workers.telemetry.name_pattern import NamePattern, parse_name

TYPES: Final = frozenset({"read", "search", "list", "version", "exec", "write", "notification"})
_PARTS: Final = re.compile(r"(?:[^!/]|!.)*", re.DOTALL)
_ESCAPE: Final = re.compile(r"!(.)", re.DOTALL)


class UnknownTypeError(ValueError):
    """The request has a type that Jolokia does not have. The agent answers it with HTTP 400."""


class BadRequestError(ValueError):
    """The request is not complete. The text is the agent's."""


@dataclass(frozen=True, slots=True)
class JolokiaRequest:
    """One request. ``attribute`` is a name, a list of names, or None for all."""

    kind: str
    name: NamePattern | None = None
    attribute: str | tuple[str, ...] | None = None
    operation: str = ""
    arguments: tuple[Any, ...] = ()
    value: Any = None
    path: tuple[str, ...] = ()
    options: Mapping[str, Any] | None = None

    @property
    def canonical(self) -> bool:
        """Whether names are answered with their keys sorted (``canonicalNaming``)."""
        return str((self.options or {}).get("canonicalNaming", "true")).lower() != "false"

    @property
    def ignores_errors(self) -> bool:
        """Whether an attribute that cannot be read has the error's text as its value (``ignoreErrors``)."""
        return str((self.options or {}).get("ignoreErrors", "false")).lower() == "true"

    @property
    def depth(self) -> int:
        """How many levels of an answer are shown (``maxDepth``); 0 for all."""
        text = str((self.options or {}).get("maxDepth", "0"))
        return int(text) if text.isdecimal() and len(text) < 5 else 0

    def echo(self) -> dict[str, Any]:
        """Return what the answer repeats of the request."""
        found: dict[str, Any] = {"type": self.kind}
        if self.name is not None:
            found["mbean"] = self.name.canonical if self.canonical else self.name.written
        if self.attribute is not None:
            found["attribute"] = self.attribute if isinstance(self.attribute, str) else list(self.attribute)
        if self.operation:
            found["operation"] = self.operation
        if self.arguments:
            found["arguments"] = list(self.arguments)
        if self.kind == "write":
            found["value"] = self.value
        if self.path:
            found["path"] = "/".join(self.path)
        return found


def from_path(path: str, options: Mapping[str, Any]) -> JolokiaRequest:
    """Read a request's path, without the leading ``/jolokia/``. In it ``!`` escapes a slash. Raises ValueError."""
    parts = [_ESCAPE.sub(r"\1", part) for part in _split(path)] if path.strip("/") else ["version"]
    kind, rest = parts[0].lower(), parts[1:]
    if kind not in TYPES:
        raise UnknownTypeError(parts[0])
    if kind in ("version", "list"):
        return JolokiaRequest(kind, path=tuple(part for part in rest if part), options=options)
    if not rest or (kind == "exec" and len(rest) < 2):
        raise BadRequestError(f"Invalid arguments in pathinfo {path} for command {kind.upper()}")
    name = parse_name(rest[0])
    match kind:
        case "read":
            attribute = rest[1] if len(rest) > 1 and rest[1] else None
            names = attribute if attribute is None or "," not in attribute else tuple(attribute.split(","))
            return JolokiaRequest(kind, name, attribute=names, path=tuple(rest[2:]), options=options)
        case "exec":
            return JolokiaRequest(kind, name, operation=rest[1], arguments=tuple(map(_argument, rest[2:])), options=options)
        case "write":
            return JolokiaRequest(kind, name, attribute=rest[1] if len(rest) > 1 else "", value="/".join(rest[2:3]), options=options)
    return JolokiaRequest(kind, name, options=options)


def from_object(given: Any, options: Mapping[str, Any]) -> JolokiaRequest:
    """Read one JSON object. Raises ValueError."""
    if not isinstance(given, dict):
        raise BadRequestError(f"Not a request within a bulk request: {type(given).__name__}")
    kind = given.get("type")
    if kind is None:
        raise BadRequestError("No type given")
    kind = str(kind).lower()
    if kind not in TYPES:
        raise UnknownTypeError(given["type"])
    own = given.get("config")
    options = {**options, **own} if isinstance(own, dict) else options
    path = tuple(_ESCAPE.sub(r"\1", part) for part in _split(str(given.get("path") or "")) if part)
    if kind in ("version", "list"):
        return JolokiaRequest(kind, path=path, options=options)
    if not isinstance(given.get("mbean"), str):
        raise BadRequestError("Objectname can not be null")
    name, attribute, arguments = parse_name(given["mbean"]), given.get("attribute"), given.get("arguments") or ()
    operation = given.get("operation")
    if kind == "exec" and not isinstance(operation, str):
        raise BadRequestError("No operation given")
    return JolokiaRequest(
        kind,
        name,
        attribute=tuple(map(str, attribute)) if isinstance(attribute, list) else None if attribute is None else str(attribute),
        operation=operation or "",
        arguments=tuple(arguments) if isinstance(arguments, list) else (),
        value=given.get("value"),
        path=path,
        options=options,
    )


def _split(path: str) -> Sequence[str]:
    parts, at = [], 0
    while at <= len(path):
        found = _PARTS.match(path, at)
        end = found.end() if found else at
        parts.append(path[at:end])
        at = end + 1
    return parts


def _argument(text: str) -> str | None:
    return {"[null]": None, '""': ""}.get(text, text)
