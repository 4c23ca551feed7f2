"""Secrets of HashiCorp Vault's key-value engines, by Vault's HTTP interface.

The engine's version decides about the path: version 2 has ``data`` after the mount point (``secret/db`` is read at ``secret/data/db``) and
wraps the values once more.
"""

from __future__ import annotations

import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import orjson

from workers.secret_stores.json_call import Server
from workers.secret_stores.store import Kept, StoreRefusalError, StoreUnreachableError

_PATH: Final = re.compile(r"[^/?#\s%]+(?:/[^/?#\s%]+)+")
_RENEW: Final = 0.8
"""The part of a token's lifetime after which the worker logs in again."""
_BUSY: Final = frozenset({412, 429, 472, 473, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Login:
    """How to get a token: POST ``form`` to ``path``."""

    path: str
    form: Mapping[str, str] = field(repr=False)


@dataclass(slots=True)
class VaultStore:
    """One Vault. ``token`` is a token or a login; ``depth`` is the number of parts of the mount point's path."""

    server: Server
    token: str | Login = field(repr=False)
    namespace: str = ""
    version: int = 2
    depth: int = 1
    clock: Callable[[], float] = time.monotonic
    _lent: tuple[str, float] | None = field(default=None, repr=False)
    """The token of the last login, and until when it is used."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def value(self, path: str, key: str, kept: Kept) -> str | None:
        """As :meth:`workers.secret_stores.store.SecretStore.value`. A value that is not a string is given as JSON."""
        if path not in kept:
            kept[path] = self._read(path)
        return kept[path].get(key)

    def _read(self, path: str) -> Mapping[str, str]:
        place = self._place(path)
        status, members = self._ask(place)
        if status == 403 and isinstance(self.token, Login):
            # The token of an earlier login may have been revoked.
            self._lent = None
            status, members = self._ask(place)
        match status:
            case 200:
                return _texts(members, self.version)
            case 403:
                raise StoreRefusalError(f"{self.server.place} does not allow to read the path {path} (403)")
            case 404:
                raise StoreRefusalError(f"{self.server.place} has no secret at the path {path} (404)")
            case _ if status in _BUSY:
                raise StoreUnreachableError(f"{self.server.place} cannot answer now ({status}) for the path {path}")
            case _:
                raise StoreRefusalError(f"{self.server.place} answered {status} for the path {path}")

    def _place(self, path: str) -> str:
        parts = path.strip("/").split("/")
        if not _PATH.fullmatch("/".join(parts)) or not {".", ".."}.isdisjoint(parts) or len(parts) <= self.depth:
            raise StoreRefusalError("the path of a secret in Vault is the mount point and the secret, such as secret/db")
        if self.version == 2 and parts[self.depth] != "data":
            parts.insert(self.depth, "data")
        return quote("/v1/" + "/".join(parts))

    def _ask(self, place: str) -> tuple[int, Mapping[str, Any]]:
        return self.server.call("GET", place, {**self._headers(), "X-Vault-Token": self._current_token()})

    def _headers(self) -> dict[str, str]:
        return {"X-Vault-Request": "true"} | ({"X-Vault-Namespace": self.namespace} if self.namespace else {})

    def _current_token(self) -> str:
        if isinstance(self.token, str):
            return self.token
        with self._lock:
            if self._lent is None or self.clock() >= self._lent[1]:
                self._lent = self._logged_in(self.token)
            return self._lent[0]

    def _logged_in(self, login: Login) -> tuple[str, float]:
        status, members = self.server.call("POST", f"/v1/{quote(login.path)}", self._headers(), login.form)
        if status in _BUSY:
            raise StoreUnreachableError(f"{self.server.place} cannot answer now ({status}) for the login at {login.path}")
        auth = members.get("auth")
        token = auth.get("client_token") if status == 200 and isinstance(auth, dict) else None
        if not isinstance(auth, dict) or not isinstance(token, str):
            raise StoreRefusalError(f"{self.server.place} refused the login at {login.path} ({status})")
        lasts = auth.get("lease_duration")
        # A token without a lease does not expire.
        seconds = lasts * _RENEW if isinstance(lasts, int) and lasts > 0 else float("inf")
        return token, self.clock() + seconds


def trust(file: str, *, verify: bool) -> ssl.SSLContext:
    """The context for https: with the authorities in ``file``, or with the system's if ``file`` is empty. Raises OSError, ssl.SSLError."""
    context = ssl.create_default_context(cafile=file or None)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _texts(members: Mapping[str, Any], version: int) -> Mapping[str, str]:
    data = members.get("data")
    if version == 2 and isinstance(data, dict):
        data = data.get("data")
    if not isinstance(data, dict):
        return {}
    return {key: value if isinstance(value, str) else orjson.dumps(value).decode() for key, value in data.items() if value is not None}
