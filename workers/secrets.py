"""Resolution of ``${provider:path:key}`` in configurations (KIP-297), at the moment the value is needed.

Three of Kafka's providers are played: a properties file (FileConfigProvider), a directory with one file a value
(DirectoryConfigProvider) and the environment (EnvVarConfigProvider). Resolved values are handed to the caller only: they are
never stored, returned by the REST interface, or logged. As in Kafka, a reference to a provider that ``config.providers`` does
not name is left as it is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from connector.errors import CdcError, ErrorKind
from connector.io.backtracking import BacktrackingProcess
from connector.name_matcher import NameMatcher
from workers.properties import parse_properties

_REFERENCE: Final = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
"""Kafka's ``ConfigTransformer`` reads ``${provider:[path:]key}`` the same way: the path ends at the first colon."""

PROVIDER_CLASSES: Final = {
    "org.apache.kafka.common.config.provider.FileConfigProvider": "file",
    "org.apache.kafka.common.config.provider.DirectoryConfigProvider": "directory",
    "org.apache.kafka.common.config.provider.EnvVarConfigProvider": "env",
}


@dataclass(frozen=True, slots=True)
class Provider:
    """One entry of ``config.providers``.

    ``kind`` is file, directory or env; ``allowed_paths`` limits the first two (KIP-993), ``allowed_names`` the last
    (``allowlist.pattern``); empty and None mean no limit.
    """

    kind: str
    allowed_paths: tuple[str, ...] = ()
    allowed_names: str | None = None


@dataclass(frozen=True, slots=True)
class Secrets:
    """Resolves references against the worker's providers, by alias."""

    providers: Mapping[str, Provider]

    def resolve(self, config: Mapping[str, str]) -> dict[str, str]:
        """``config`` with every reference to a known provider replaced.

        Raises CdcError(CONFIG_INVALID) that names the property and the reference, when the file, the directory, the variable or
        the key in it is missing.
        """
        return {key: self._resolve_value(key, value) if "${" in value else value for key, value in config.items()}

    def _resolve_value(self, name: str, value: str) -> str:
        def replace(match: re.Match[str]) -> str:
            provider = self.providers.get(match[1])
            if provider is None:
                return match[0]
            try:
                return _read(provider, match[3] or "", match[4])
            except (OSError, ValueError, KeyError) as problem:
                # An OSError tells the path, which is no secret; other texts could quote the file's content.
                reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else "no such key"
                raise CdcError(
                    ErrorKind.CONFIG_INVALID,
                    f"The reference {match[0]} in the property {name} cannot be resolved: {reason}",
                    "Provide the value where the reference points, then restart the connector.",
                ) from None

        return _REFERENCE.sub(replace, value)


@cache
def _names(pattern: str) -> NameMatcher:
    return NameMatcher([pattern], "allowlist.pattern", ignore_case=False, backtrack=BacktrackingProcess())


def _read(provider: Provider, path: str, key: str) -> str:
    if provider.kind == "env":
        if provider.allowed_names is not None and not _names(provider.allowed_names)(key):
            raise KeyError(key)
        return os.environ[key]
    place = Path(path)
    if provider.allowed_paths and not any(place.resolve().is_relative_to(Path(root).resolve()) for root in provider.allowed_paths):
        raise PermissionError(1, "the path is outside of allowed.paths")
    if provider.kind == "file":
        return parse_properties(place.read_text(encoding="utf-8"))[key]
    inside = place / key
    if inside.parent != place:
        raise KeyError(key)
    return inside.read_text(encoding="utf-8")
