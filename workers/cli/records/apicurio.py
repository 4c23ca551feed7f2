"""Asks Apicurio's registry by its own API for the schemas of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from workers.cli.failure import CommandError
from workers.settings.worker_address import shown_url
from workers.spark.failure import JobError
from workers.spark.topics.apicurio import ApicurioRegistry, UseId, generation_of
from workers.spark.topics.known import Unreadable
from workers.spark.topics.registry import RegistryAuth


class ApicurioSchemas:
    """The registry at ``url`` (``…/apis/registry/v2`` or ``v3``), which may hold a login.

    ``use_id`` is the kind of the ids that records do not tell; None: contentId in version 3, globalId in version 2, as in the converters.
    Raises CommandError for an address that cannot be used.
    """

    def __init__(self, url: str, use_id: UseId | None = None) -> None:
        parts = urlsplit(url)
        login = None if parts.username is None else RegistryAuth(unquote(parts.username), unquote(parts.password or ""))
        self._use_id: UseId = use_id or ("globalId" if generation_of(url) == 2 else "contentId")
        kinds: tuple[UseId, ...] = ("contentId", "globalId")
        try:
            self._registries = {kind: ApicurioRegistry(shown_url(url), kind, login) for kind in kinds}
        except JobError as problem:
            raise CommandError(str(problem)) from problem

    def close(self) -> None:
        """Close the connections."""
        for registry in self._registries.values():
            registry.close()

    def schema(self, number: int, kind: UseId | None = None) -> Mapping[str, Any]:
        """The schema with this id (:data:`workers.cli.records.decoding.Lookup`), with all that it refers to. Raises CommandError."""
        try:
            found = self._registries[kind or self._use_id].schema(number)
        except JobError as problem:
            raise CommandError(str(problem)) from problem
        if isinstance(found, Unreadable):
            raise CommandError(f"A record cannot be decoded: {found.reason}", "Check --registry.")
        return {"schema": found}
