"""A request of Jolokia's protocol, from a path (``GET``) or a JSON object (``POST``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from workers.telemetry.name_pattern import NamePattern, parse_name

TYPES: Final = frozenset({"read", "search", "list", "version", "exec", "write", "notification"})
LONGEST_NAME: Final = 4_096
"""Most characters of an MBean's name or pattern."""
_PART: Final = re.compile(r"((?:[^!/]|!.|!\Z)*)(?:/|\Z)", re.DOTALL)
_ESCAPE: Final = re.compile(r"!(.)", re.DOTALL)
_NAME: Final = re.compile(r"((?:[^\\,]|\\.|\\\Z)*)(?:,|\Z)", re.DOTALL)
_COMMA: Final = re.compile(r"\\(.)", re.DOTALL)
_JAVA: Final = {dict: "org.jolokia.json.JSONObject", bool: "java.lang.Boolean", int: "java.lang.Long", float: "java.lang.Double"}
Path = tuple[str | None, ...]
"""A path into a value. None is ``*``: every member."""


class UnknownTypeError(ValueError):
    """The request has a type that Jolokia does not have. The agent answers it with HTTP 400."""


class BadRequestError(ValueError):
    """The request is not complete. The text is the agent's."""


@dataclass(frozen=True, slots=True)
class JolokiaRequest:
    """One request. ``attribute`` is a name, a list of names, or None for all. ``proxied`` requests are meant for another process."""

    kind: str
    name: NamePattern | None = None
    attribute: str | tuple[str, ...] | None = None
    operation: str = ""
    arguments: tuple[Any, ...] = ()
    value: Any = None
    path: Path = ()
    options: Mapping[str, Any] | None = None
    proxied: bool = False

    @property
    def canonical(self) -> bool:
        """Whether names are answered with their keys sorted (``canonicalNaming``)."""
        return self._option("canonicalNaming", "true").lower() == "true"

    @property
    def ignores_errors(self) -> bool:
        """Whether an attribute that cannot be read has the error's text as its value (``ignoreErrors``)."""
        return self._option("ignoreErrors", "false").lower() in {"true", "on", "yes", "y", "1"}

    @property
    def is_repeated(self) -> bool:
        """Whether the answer repeats the request (``includeRequest``)."""
        return self._option("includeRequest", "true").lower() != "false"

    @property
    def depth(self) -> int:
        """How many levels of an answer are shown (``maxDepth``); 0 for all."""
        text = self._option("maxDepth", "0")
        return int(text) if text.isdecimal() and len(text) < 5 else 0

    def _option(self, name: str, default: str) -> str:
        value = (self.options or {}).get(name)
        return default if value is None else str(value)

    def echo(self) -> dict[str, Any]:
        """Return what the answer repeats of the request."""
        found: dict[str, Any] = {"type": self.kind}
        if self.name is not None:
            found["mbean"] = self.name.canonical if self.canonical else self.name.written
        if self.attribute:
            names = (self.attribute,) if isinstance(self.attribute, str) else self.attribute
            found["attribute"] = names[0] if len(names) == 1 else list(names)
        if self.operation:
            found["operation"] = self.operation
        if self.arguments:
            found["arguments"] = list(self.arguments)
        if self.kind == "write":
            found["value"] = self.value
        if self.path:
            found["path"] = _written(self.path)
        return found


def from_path(path: str, options: Mapping[str, Any]) -> JolokiaRequest:
    """Read a request's path, without the leading ``/jolokia/``. In it ``!`` escapes a slash. Raises ValueError."""
    parts = _split(path) if path.strip("/") else ("version",)
    kind, rest = (parts[0] or "*").lower(), parts[1:]
    if kind not in TYPES:
        raise UnknownTypeError(parts[0] or "*")
    if kind in ("version", "list"):
        return JolokiaRequest(kind, path=_checked(rest), options=options)
    if not rest or (kind == "exec" and len(rest) < 2):
        raise BadRequestError(f"Invalid arguments in pathinfo {path} for command {kind.upper()}")
    name = _name(rest[0])
    match kind:
        case "read":
            names = _attribute_names(rest[1]) if len(rest) > 1 else None
            return JolokiaRequest(kind, name, attribute=names, path=_checked(rest[2:]), options=options)
        case "exec":
            operation = "*" if rest[1] is None else rest[1]
            return JolokiaRequest(kind, name, operation=operation, arguments=tuple(map(_argument, rest[2:])), options=options)
        case "write":
            attribute, value = (*rest[1:3], None, None)[:2]
            return JolokiaRequest(kind, name, attribute=attribute, value=value, options=options)
    return JolokiaRequest(kind, name, options=options)


def from_object(given: Mapping[str, Any], options: Mapping[str, Any]) -> JolokiaRequest:
    """Read one JSON object. Raises ValueError."""
    kind = given.get("type")
    if kind is None:
        raise BadRequestError("No type given")
    kind = str(kind).lower()
    if kind not in TYPES:
        raise UnknownTypeError(given["type"])
    own = given.get("config")
    options = {**options, **own} if isinstance(own, dict) else options
    path = _checked(_split(str(given.get("path") or "")))
    own = given.get("options")
    proxied = given.get("target") is not None or (isinstance(own, dict) and own.get("target") is not None)
    if kind in ("version", "list"):
        return JolokiaRequest(kind, path=path, options=options, proxied=proxied)
    name, attribute, arguments = _name(given.get("mbean")), given.get("attribute"), given.get("arguments") or ()
    operation = given.get("operation")
    if kind == "exec" and not isinstance(operation, str):
        raise BadRequestError("No operation given")
    return JolokiaRequest(
        kind,
        name,
        attribute=_attribute_names(attribute) if kind == "read" else None if attribute is None else str(attribute),
        operation=operation or "",
        arguments=tuple(arguments) if isinstance(arguments, list) else (),
        value=given.get("value"),
        path=path,
        options=options,
        proxied=proxied,
    )


def _name(text: object) -> NamePattern:
    if not isinstance(text, str):
        raise BadRequestError("Objectname can not be null")
    if len(text) > LONGEST_NAME:
        raise BadRequestError(f"The name of an MBean may have {LONGEST_NAME} characters")
    return parse_name(text)


def _attribute_names(given: object) -> str | tuple[str, ...] | None:
    """Return what a request reads. A text with commas, which a backslash escapes, is a list."""
    if given is None or given == [None]:
        return None
    if isinstance(given, str):
        names = [_COMMA.sub(r"\1", part) for part in _parts(_NAME, given)]
        return tuple(names) if len(names) > 1 else names[0] if names else None
    if not isinstance(given, list):
        raise BadRequestError(f"Attribute names must be either a String, Collection or null (and not class {_JAVA[type(given)]})")
    if not all(isinstance(each, str) for each in given):
        raise BadRequestError("Each attribute name must be a String")
    return tuple(given)


def _split(path: str) -> Path:
    """Return the parts of a path. An empty part at its end is none."""
    return tuple(None if part == "*" else _ESCAPE.sub(r"\1", part) for part in _parts(_PART, path)) if path != "/" else ()


def _parts(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    at = 0
    while at < len(text) and (found := pattern.match(text, at)):
        yield found[1]
        at = found.end()


def _checked(path: Path) -> Path:
    if path and path[-1] is None:
        raise BadRequestError(f"Path '{_written(path)}' must not end with a wildcard")
    return path


def _written(path: Path) -> str:
    return "/".join("*" if part is None else part.replace("!", "!!").replace("/", "!/") for part in path)


def _argument(text: str | None) -> str | None:
    return None if text is None else {"[null]": None, '""': ""}.get(text, text)
