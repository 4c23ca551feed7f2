"""The users of the REST interface's login, from a JAAS file in Java's format and the password file that it names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from connector.errors import CdcError, ErrorKind
from connector.java.properties import parse_properties
from connector.log import EventLog

LOG: Final = EventLog(__name__)

PROPERTY: Final = "java.security.auth.login.config"
"""The JVM's property, which the variable ``KAFKA_OPTS`` sets. Kafka Connect has no worker property of this name."""
EXTENSION: Final = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
MODULE: Final = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"

_ENTRIES: Final = ("KafkaConnect", "other")
"""The names in Java's order: the application's own entry, else the one named ``other``."""
_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})
_TOKEN: Final = re.compile(r'//[^\n]*|/\*.*?\*/|#[^\n]*|"((?:[^"\\]|\\.)*)"|([{};=])|([^\s{};="]+)', re.DOTALL)
_EXAMPLE: Final = f'Write it as: KafkaConnect {{ {MODULE} required file="/path/users.properties"; }};'


def from_java_options(options: str) -> str | None:
    """The JAAS file in a JVM's options; None without one."""
    # In Java a second equals sign excludes all other files. No other file exists here.
    named = java_property(options, PROPERTY)
    return None if named is None else re.sub(r"^file:(//)?", "", named.removeprefix("="))


def java_property(options: str, name: str) -> str | None:
    """The value of a property in a JVM's options; None if it is not set. As in Java the last one counts."""
    try:
        words = shlex.split(options)
    except ValueError:
        words = options.split()
    start = f"-D{name}="
    named = [word.removeprefix(start) for word in words if word.startswith(start)]
    return named[-1] if named else None


def users(properties: Mapping[str, str]) -> Mapping[str, str] | None:
    """User → password, read once; None when ``rest.extension.classes`` requires no login.

    Raises CdcError(CONFIG_INVALID) for another extension, and for a file that is missing or does not name :data:`MODULE` with its
    ``file``.
    """
    text = properties.get("rest.extension.classes", "")
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    for name in wanted:
        if name not in (EXTENSION, EXTENSION.rpartition(".")[2]):
            raise _invalid(
                f"The worker property rest.extension.classes names {name}", f"This worker supports only {EXTENSION}; remove the other."
            )
    if not wanted:
        return None
    place = properties.get(PROPERTY, "").strip()
    if not place:
        raise _invalid(
            "The worker property rest.extension.classes requires a login, but no JAAS file is named",
            f"Set KAFKA_OPTS=-D{PROPERTY}=/path/jaas.conf in the environment, or the worker property {PROPERTY}.",
        )
    file = _password_file(_read("JAAS file", place), place)
    try:
        # Java reads a properties file as Latin-1; other characters are written as escapes.
        found = parse_properties(_read("file of users", file, encoding="latin-1"))
    except ValueError:
        raise _invalid(
            f"Cannot read the file of users {file}: a \\u escape is malformed", "Write four hexadecimal digits after it."
        ) from None
    if not found:
        LOG.warning("file of users is empty, every request is accepted")
    return {_whole(name): _whole(password) for name, password in found.items()}


def _password_file(text: str, place: str) -> str:
    """The option ``file`` of the one module in the entry for Connect."""
    entries = dict(_entries(list(_tokens(text)), place))
    modules = next((entries[name] for name in _ENTRIES if name in entries), None)
    if modules is None:
        raise _invalid(f"The JAAS file {place} has no entry KafkaConnect", _EXAMPLE)
    if len(modules) != 1 or modules[0][0] != MODULE:
        names = ", ".join(name for name, _ in modules) or "no module"
        raise _invalid(
            f"The entry KafkaConnect of the JAAS file {place} names {names}", f"This worker supports one module, {MODULE}. {_EXAMPLE}"
        )
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
    """The entries of the form ``name { class flag option=value ... ; ... } ;``."""
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
    """The position after an expected token. Raises ValueError for another token."""
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
    """Join the surrogate halves of characters that a properties file writes as two escapes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _invalid(message: str, remedy: str) -> CdcError:
    return CdcError(ErrorKind.CONFIG_INVALID, message, remedy)
