"""The users of the REST interface's login: a JAAS file, as Java has it, and the file of passwords that it names."""

from __future__ import annotations

import logging
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from connector.errors import CdcError, ErrorKind
from workers.properties import parse_properties

LOGGER: Final = logging.getLogger(__name__)

PROPERTY: Final = "java.security.auth.login.config"
"""The name of the JVM's property, which the variable ``KAFKA_OPTS`` sets; as a worker property it is this project's own."""
EXTENSION: Final = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
MODULE: Final = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"

_ENTRIES: Final = ("KafkaConnect", "other")
"""Java's order: the application's own entry, else the one named ``other``."""
_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})
_TOKEN: Final = re.compile(r'//[^\n]*|/\*.*?\*/|#[^\n]*|"((?:[^"\\]|\\.)*)"|([{};=])|([^\s{};="]+)', re.DOTALL)
_EXAMPLE: Final = f'Write it as: KafkaConnect {{ {MODULE} required file="/path/users.properties"; }};'


def from_java_options(options: str) -> str | None:
    """The JAAS file that options of a JVM name; None when they name none."""
    # A second equals sign tells Java to read no other file besides; here there is none.
    named = java_property(options, PROPERTY)
    return None if named is None else re.sub(r"^file:(//)?", "", named.removeprefix("="))


def java_property(options: str, name: str) -> str | None:
    """A property that options of a JVM set; None when they do not. The last one counts, as in Java."""
    try:
        words = shlex.split(options)
    except ValueError:
        words = options.split()
    start = f"-D{name}="
    named = [word.removeprefix(start) for word in words if word.startswith(start)]
    return named[-1] if named else None


def users(properties: Mapping[str, str]) -> Mapping[str, str] | None:
    """Users and passwords, read once; None when ``rest.extension.classes`` asks for no login.

    Raises CdcError(CONFIG_INVALID) for another extension, and for a file that is missing or that says something else than
    :data:`MODULE` with its ``file``.
    """
    text = properties.get("rest.extension.classes", "")
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    for name in wanted:
        if name not in (EXTENSION, EXTENSION.rpartition(".")[2]):
            raise _invalid(
                f"The worker property rest.extension.classes names {name}", f"This worker plays {EXTENSION} only; remove the other."
            )
    if not wanted:
        return None
    place = properties.get(PROPERTY, "").strip()
    if not place:
        raise _invalid(
            "The worker property rest.extension.classes asks for a login, but no JAAS file is named",
            f"Set KAFKA_OPTS=-D{PROPERTY}=/path/jaas.conf in the environment, or the worker property {PROPERTY}.",
        )
    file = _password_file(_read("JAAS file", place), place)
    try:
        # Java reads a properties file as Latin-1; other signs are written as escapes.
        found = parse_properties(_read("file of users", file, encoding="latin-1"))
    except ValueError:
        raise _invalid(
            f"Cannot read the file of users {file}: a \\u escape is malformed", "Write four hexadecimal digits after it."
        ) from None
    if not found:
        LOGGER.warning("the file of users is empty, so every request is let in")
    return {_whole(name): _whole(password) for name, password in found.items()}


def _password_file(text: str, place: str) -> str:
    """The ``file`` of the one module in the entry for Connect."""
    entries = dict(_entries(list(_tokens(text)), place))
    modules = next((entries[name] for name in _ENTRIES if name in entries), None)
    if modules is None:
        raise _invalid(f"The JAAS file {place} has no entry KafkaConnect", _EXAMPLE)
    if len(modules) != 1 or modules[0][0] != MODULE:
        names = ", ".join(name for name, _ in modules) or "no module"
        raise _invalid(f"The entry KafkaConnect of the JAAS file {place} names {names}", f"This worker plays {MODULE}, once. {_EXAMPLE}")
    if not modules[0][1].get("file", "").strip():
        raise _invalid(f"The entry KafkaConnect of the JAAS file {place} names no file of users", _EXAMPLE)
    return modules[0][1]["file"].strip()


def _tokens(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(text):
        if match[1] is not None:
            yield re.sub(r"\\(.)", r"\1", match[1])
        elif match[2] or match[3]:
            yield match[0]


def _entries(tokens: list[str], place: str) -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """``name { class flag option=value ... ; ... } ;``, again and again."""
    at = 0
    try:
        while at < len(tokens):
            name, modules = tokens[at], []
            at = _past(tokens, at + 1, "{")
            while tokens[at] != "}":
                module, options = tokens[at], dict[str, str]()
                at = _past(tokens, at + 1, *_FLAGS)
                while tokens[at] != ";":
                    value = _past(tokens, at + 1, "=")
                    options[tokens[at]] = tokens[value]
                    at = value + 1
                modules.append((module, options))
                at += 1
            at = _past(tokens, at + 1, ";")
            yield name, modules
    except (IndexError, ValueError):
        raise _invalid(f"The JAAS file {place} cannot be read", _EXAMPLE) from None


def _past(tokens: list[str], at: int, *expected: str) -> int:
    """The place behind a token; ValueError when it is another one."""
    if tokens[at].lower() not in expected:
        raise ValueError(tokens[at])
    return at + 1


def _read(what: str, place: str, encoding: str = "utf-8") -> str:
    try:
        return Path(place).read_text(encoding=encoding)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not text"
        raise _invalid(f"Cannot read the {what} {place}: {reason}", "Name a file that the worker may read.") from None


def _whole(text: str) -> str:
    """Joins the halves of signs that a properties file writes as two escapes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _invalid(message: str, mend: str) -> CdcError:
    return CdcError(ErrorKind.CONFIG_INVALID, message, mend)
