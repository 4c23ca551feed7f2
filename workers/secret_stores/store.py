"""What a store of secrets is, and its two failures. Neither failure quotes a value, a token or the server's own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class StoreRefusalError(Exception):
    """The store does not give the value, and asking again does not help. The text is the reason, without a full stop."""


class StoreUnreachableError(Exception):
    """The store did not answer, or cannot answer now. The text is the reason, without a full stop."""


Kept = dict[str, Mapping[str, str]]
"""What one pass over a configuration has read: the secrets of one store by their place."""


class SecretStore(Protocol):
    """Secrets on a server. Calls block, for at most about 15 seconds. Several threads may call at the same time."""

    def value(self, path: str, key: str, kept: Kept) -> str | None:
        """The value of ``${provider:path:key}``. None: the secret has no such key, and the reference stays as it is written.

        A secret in ``kept`` is not read again; one that was read is added. Raises StoreRefusalError, StoreUnreachableError.
        """
