"""Resolves ``${provider:path:key}`` references in configurations (KIP-297) when the value is needed.

Three of Kafka's providers are supported: a properties file (FileConfigProvider), a directory with one file for each value
(DirectoryConfigProvider) and the environment (EnvVarConfigProvider). :mod:`workers.secret_stores` adds those that ask a server. Only the
caller gets resolved values: they are never stored, returned by the REST interface, or logged.

As in Kafka 4.3 a reference stays as it is written when ``config.providers`` does not name its provider, when the file, the
directory or the environment does not have the key, when the path of a file or directory is empty or outside of
``allowed.paths``, and when a directory is missing. An unreadable file, and a path for the environment, are errors. So is a secret that a
server does not have or does not give; only a key that the secret lacks stays as it is written.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from connector.catalog.name_matcher import NameMatcher
from connector.errors import CdcError, ErrorKind
from connector.io.regex_process import BacktrackingProcess
from connector.io.regular_file import read_regular
from connector.java.properties import parse_properties
from connector.log import EventLog
from workers.secret_stores.store import Kept, SecretStore, StoreRefusalError, StoreUnreachableError
from workers.settings.references import Reference, references

LOG: Final = EventLog(__name__)

PROVIDER_CLASSES: Final = {
    "org.apache.kafka.common.config.provider.FileConfigProvider": "file",
    "org.apache.kafka.common.config.provider.DirectoryConfigProvider": "directory",
    "org.apache.kafka.common.config.provider.EnvVarConfigProvider": "env",
    # The former class of Strimzi. It ignores the path and has no allowlist.pattern.
    "io.strimzi.kafka.EnvVarConfigProvider": "strimzi env",
}
"""The providers that ask no server, and their kinds. Those that ask one are in :data:`workers.secret_stores.classes.STORE_CLASSES`."""

_MOST: Final = 4 << 20
"""The most characters that all references of one configuration may resolve to; a short text can name a large file many times."""
_THREADS: Final = 4
"""How many connectors may ask servers at the same time; more of them wait. Other work that needs threads is not affected."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One entry of ``config.providers``.

    ``kind`` is file, directory, env, "strimzi env" or store; ``allowed_paths`` limits the first two (KIP-993), ``allowed_names`` env
    (``allowlist.pattern``). None means no limit, an empty ``allowed_paths`` that no path is allowed. ``store`` is that of the kind store.
    """

    kind: str
    allowed_paths: tuple[str, ...] | None = None
    allowed_names: str | None = None
    store: SecretStore | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One replaced reference: its text and its value."""

    reference: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Resolution:
    """A configuration with its references replaced.

    ``found``: property → its replaced references; properties without one are absent. ``left``: (property, reference, reason) for each
    reference that names a provider of the worker and stays as it is written.
    """

    values: Mapping[str, str] = field(repr=False)
    found: Mapping[str, tuple[Found, ...]]
    left: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Secrets:
    """Resolves references by the worker's providers. ``providers``: alias → provider."""

    providers: Mapping[str, Provider]

    def asks_servers(self, text: str) -> bool:
        """Whether resolving ``text`` asks a server."""
        return any((provider := self.providers.get(each.provider)) is not None and provider.store is not None for each in references(text))

    def resolve(self, config: Mapping[str, str]) -> dict[str, str]:
        """``config`` with its references replaced. Raises CdcError as :meth:`look_up`."""
        return dict(self._pass(config).values)

    async def looked_up(self, config: Mapping[str, str]) -> Resolution:
        """As :meth:`look_up`, without blocking the event loop while servers are asked."""
        if not any(self.asks_servers(value) for value in config.values() if "${" in value):
            return self.look_up(config)
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(_threads(), context.run, self.look_up, config)

    def look_up(self, config: Mapping[str, str]) -> Resolution:
        """Replace the references of ``config``. Each file and each secret is read once.

        The log names the references that stay as they are written.

        Raises CdcError that names the property and the reference: CONFIG_INVALID when a provider refuses the reference,
        PROVIDER_UNREACHABLE when a server cannot be asked now. Only the log says why a file cannot be read: the sender of a
        configuration must not learn which files exist.
        """
        resolution = self._pass(config)
        for name, reference, reason in resolution.left:
            LOG.warning("reference not resolved", property=name, reference=reference, reason=reason)
        return resolution

    def _pass(self, config: Mapping[str, str]) -> Resolution:
        reading = _Reading(self.providers)
        values = {name: reading.resolved(name, value) if "${" in value else value for name, value in config.items()}
        return Resolution(values, reading.found, tuple(reading.left))


class _NotThere(Exception):  # noqa: N818 -- not an error: the reference stays as it is written
    """The provider has no such value. The text is the reason."""


class _Reading:
    """One pass over a configuration."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self.found: dict[str, tuple[Found, ...]] = {}
        self.left: list[tuple[str, str, str]] = []
        self._providers = providers
        self._files: dict[Path, Mapping[str, str]] = {}
        self._kept: dict[str, Kept] = {}
        self._size = 0

    def resolved(self, name: str, value: str) -> str:
        parts: list[str] = []
        at = 0
        for reference in references(value):
            provider = self._providers.get(reference.provider)
            if provider is None:
                continue
            text = value[reference.begin : reference.end]
            replacement = self._value(provider, reference, name, text)
            if replacement is None:
                continue
            self._size += len(replacement)
            if self._size > _MOST:
                raise _refused(name, text, f"All references of the configuration resolve to more than {_MOST} characters")
            self.found[name] = (*self.found.get(name, ()), Found(text, replacement))
            parts += [value[at : reference.begin], replacement]
            at = reference.end
        return "".join([*parts, value[at:]])

    def _value(self, provider: Provider, reference: Reference, name: str, text: str) -> str | None:
        """The value; None where the reference stays as it is written."""
        try:
            if provider.store is not None:
                return self._of_store(provider.store, reference, name, text)
            match provider.kind:
                case "env" | "strimzi env":
                    if reference.path and provider.kind == "env":
                        raise _refused(name, text, "References to the environment have no path: write ${provider:NAME}")
                    return _variable(provider, reference.key)
                case "file":
                    return self._of_file(provider, reference)
                case _:
                    return _of_directory(provider, reference)
        except _NotThere as missing:
            self.left.append((name, text, str(missing)))
            return None
        except (OSError, ValueError) as problem:
            reason = (problem.strerror if isinstance(problem, OSError) else None) or "It is not text of the expected form"
            LOG.warning("cannot read a reference", property=name, reference=text, reason=reason)
            raise _refused(name, text, "The file cannot be read; the worker's log says why") from None

    def _of_store(self, store: SecretStore, reference: Reference, name: str, text: str) -> str:
        try:
            found = store.value(reference.path, reference.key, self._kept.setdefault(reference.provider, {}))
        except StoreRefusalError as problem:
            raise _refused(name, text, _sentence(problem)) from None
        except StoreUnreachableError as problem:
            raise CdcError(
                ErrorKind.PROVIDER_UNREACHABLE,
                f"The reference {text} in the property {name} cannot be resolved now: {_sentence(problem)}",
                "Make the server reachable for the worker.",
            ) from None
        if found is None:
            raise _NotThere("The secret has no such key")
        return found

    def _of_file(self, provider: Provider, reference: Reference) -> str:
        path = _allowed(provider, reference.path)
        if path not in self._files:
            self._files[path] = parse_properties(read_regular(path).decode())
        try:
            return self._files[path][reference.key]
        except KeyError:
            raise _NotThere("The file has no such key") from None


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="secrets")


def _sentence(problem: Exception) -> str:
    text = str(problem)
    return text[:1].upper() + text[1:]


@cache
def _names(pattern: str) -> NameMatcher:
    return NameMatcher([pattern], "allowlist.pattern", ignore_case=False, backtrack=BacktrackingProcess())


def _variable(provider: Provider, name: str) -> str:
    if provider.allowed_names is not None and not _names(provider.allowed_names)(name):
        raise _NotThere("The provider's allowlist.pattern does not match")
    try:
        return os.environ[name]
    except KeyError:
        raise _NotThere("The environment has no such variable") from None


def _of_directory(provider: Provider, reference: Reference) -> str:
    directory = _allowed(provider, reference.path)
    key = reference.key
    # As in Kafka the key is the name of a regular file in the directory, not a path.
    if key in ("", ".", "..") or "/" in key or "\0" in key:
        raise _NotThere("The directory has no such file")
    file = _allowed(provider, str(directory / key))
    if not directory.is_dir() or not file.is_file():
        raise _NotThere("The directory has no such file")
    return read_regular(file).decode()


def _allowed(provider: Provider, path: str) -> Path:
    """Return the path if the provider may read there.

    Kafka compares paths as they are written. Here the target of symbolic links must be allowed too.
    """
    if not path:
        raise _NotThere("The reference names no path")
    if "\0" in path:
        raise ValueError("NUL")
    place = Path(path)
    if provider.allowed_paths is None:
        return place
    written, real = _normal(path), place.resolve()
    for root in provider.allowed_paths:
        if written.is_relative_to(_normal(root)) and real.is_relative_to(Path(root).resolve()):
            return real
    raise _NotThere("The path is outside of the provider's allowed.paths")


def _normal(path: str) -> Path:
    """The path without ``.``, ``..`` and doubled slashes. As in Java two slashes at the beginning have no special meaning."""
    plain = os.path.normpath(path)
    return Path("/" + plain.lstrip("/")) if plain.startswith("/") else Path(plain)


def _refused(name: str, text: str, why: str) -> CdcError:
    return CdcError(
        ErrorKind.CONFIG_INVALID,
        f"The reference {text} in the property {name} cannot be resolved: {why}",
        "Correct the reference, or provide its value, then restart the connector.",
    )
