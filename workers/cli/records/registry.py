"""Asks a schema registry (Confluent's interface) for the schemas of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workers.cli.failure import CommandError
from workers.settings.worker_address import shown_url

if TYPE_CHECKING:
    import httpx

_SECONDS = 30.0


class Registry:
    """The registry at ``url``, which may hold a login (``https://user:password@host``). Raises CommandError for an unusable address."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        import httpx  # noqa: PLC0415

        self._shown = shown_url(url)
        try:
            self._client = httpx.Client(base_url=url.rstrip("/"), timeout=_SECONDS, trust_env=False, transport=transport)
        except (httpx.InvalidURL, ValueError):
            # Their texts quote the address.
            raise CommandError(f"The registry's address {self._shown} cannot be used", "Give --registry URL.") from None
        self._error = httpx.HTTPError

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def schema(self, number: int, _kind: object = None) -> Mapping[str, Any]:
        """The schema with this id, of which there is one kind (:data:`workers.cli.records.decoding.Lookup`). Raises CommandError."""
        try:
            answer = self._client.get(f"/schemas/ids/{number}")
            answer.raise_for_status()
            found: Mapping[str, Any] = answer.json()
        except (self._error, ValueError) as problem:
            raise CommandError(
                f"The registry at {self._shown} has no answer for schema {number} ({type(problem).__name__})",
                "Check --registry. The address of an Apicurio registry ends in /apis/registry/v3 or v2.",
            ) from problem
        return found
