"""The worker properties that add headers to answers: ``response.http.headers.config`` and ``access.control.*``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from connect_api.cross_origin import DEFAULT_METHODS, CrossOrigin
from connect_api.response_headers import HeaderRule
from connector.catalog.name_matcher import NameMatcher
from connector.errors import CdcError, ErrorKind
from connector.io.regex_process import BacktrackingProcess

RULES: Final = "response.http.headers.config"
ORIGIN: Final = "access.control.allow.origin"
METHODS: Final = "access.control.allow.methods"

_ANY: Final = "*"
_ACTIONS: Final = ("set", "add", "setDate", "addDate")
_FIELD_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LONGEST_MS: Final = 60_000_000_000_000
"""The most milliseconds between an answer and a date in it: some 1,900 years. Dates of HTTP have the years 0001 to 9999."""
_FORM: Final = '"set Cache-Control: no-cache, no-store", add X-Served-By: connect, setDate Expires: 86400000'


def header_rules(properties: Mapping[str, str]) -> tuple[HeaderRule, ...]:
    """The rules of ``response.http.headers.config``: ``[action] [name]:[value]``, separated by commas; a rule with commas is quoted.

    Raises CdcError(CONFIG_INVALID) that names the malformed rule.
    """
    text = properties.get(RULES, "").strip()
    return tuple(_rule(part) for part in _comma_separated(text)) if text else ()


def cross_origin(properties: Mapping[str, str]) -> CrossOrigin | None:
    """The rules of ``access.control.*``; None without an origin. Raises CdcError(CONFIG_INVALID) for an invalid expression."""
    text = properties.get(ORIGIN, "")
    origins = [origin.strip() for origin in text.split(",") if origin.strip()]
    if not origins:
        return None
    methods = properties.get(METHODS, "").strip() or DEFAULT_METHODS
    if not re.fullmatch(r"[A-Z]+(\s*,\s*[A-Z]+)*", methods):
        raise CdcError(
            ErrorKind.CONFIG_INVALID, f"Invalid value {methods} for the worker property {METHODS}", "Name methods, such as GET,POST,PUT."
        )
    try:
        allows = None if _ANY in origins else NameMatcher(origins, ORIGIN, backtrack=BacktrackingProcess())
    except CdcError as problem:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Invalid value {text} for the worker property {ORIGIN}: {problem.message}",
            "Write an origin such as https://console.example.com, a regular expression for the whole of it, or *.",
        ) from problem
    return CrossOrigin(allows, ",".join(method.strip() for method in methods.split(",")))


def _rule(text: str) -> HeaderRule:
    action, _, header = text.strip().partition(" ")
    parts = header.strip().split(":")
    if len(parts) != 2 or not parts[1].strip():
        raise _invalid(text, "It must be written as action name:value, and neither name nor value may hold a colon")
    if action.lower() not in [known.lower() for known in _ACTIONS]:
        raise _invalid(text, f"The action must be one of {', '.join(_ACTIONS)}")
    name, value = parts[0].strip(), parts[1].strip()
    if not _FIELD_NAME.fullmatch(name):
        raise _invalid(text, "The name of the header must not hold white space or a separator of HTTP")
    # Kafka Connect accepts actions in any case but recognizes adding and dates only in the case above: ADD acts as set.
    date = action.endswith("Date")
    if date and not re.fullmatch(r"-?\d{1,15}", value):
        raise _invalid(text, "The value of a date must be a number, the milliseconds after the answer")
    if date and abs(int(value)) > _LONGEST_MS:
        raise _invalid(text, "The value of a date is too large: it must be the milliseconds after the answer")
    if not (value.isascii() and value.isprintable()):
        raise _invalid(text, "The value must be printable ASCII")
    return HeaderRule(name, value, add=action.startswith("add"), date=date)


def _comma_separated(text: str) -> Iterator[str]:
    """The parts between unquoted commas, without the quotes. In quotes a backslash escapes the next character."""
    part, quoted, signs = "", False, iter(text)
    for sign in signs:
        if quoted and sign == "\\":
            part += next(signs, "")
        elif sign == '"':
            quoted = not quoted
        elif sign == "," and not quoted:
            yield part.strip()
            part = ""
        else:
            part += sign
    if quoted:
        raise _invalid(text, "A quote is not closed")
    yield part.strip()


def _invalid(rule: str, why: str) -> CdcError:
    return CdcError(ErrorKind.CONFIG_INVALID, f"The worker property {RULES} holds the rule {rule or '(empty)'}: {why}", f"Example: {_FORM}")
