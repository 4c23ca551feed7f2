"""Secrets and ConfigMaps of Kubernetes, as Strimzi's two configuration providers read them.

The address of the API server comes from the environment of the pod; token, certificate authority and namespace come from the files of its
service account. They are read again for each request, because Kubernetes replaces the token every hour.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from connector.io.regular_file import read_regular
from workers.secret_stores.json_call import LIMITS, Limits, Server
from workers.secret_stores.store import Kept, StoreRefusalError, StoreUnreachableError

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_NAME: Final = "[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?"
_PATH: Final = re.compile(f"(?:({_NAME})/)?({_NAME})")
_RESOURCES: Final = {"Secret": "secrets", "ConfigMap": "configmaps"}


@dataclass(frozen=True, slots=True)
class KubernetesStore:
    """The objects of one ``kind``, Secret or ConfigMap. A path is ``namespace/name``, or ``name`` in the pod's own namespace."""

    kind: str
    account: Path = SERVICE_ACCOUNT
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    limits: Limits = LIMITS

    def value(self, path: str, key: str, kept: Kept) -> str | None:
        """As :meth:`workers.secret_stores.store.SecretStore.value`. A value of a Secret must be UTF-8."""
        written = _PATH.fullmatch(path)
        if written is None:
            raise StoreRefusalError(f"the path of a {self.kind} is namespace/name or name")
        if path not in kept:
            kept[path] = self._read(written[1] or self._account_text("namespace"), written[2])
        found = kept[path].get(key)
        return found if found is None or self.kind == "ConfigMap" else self._decoded(found, key, path)

    def _read(self, namespace: str, name: str) -> Mapping[str, str]:
        server, token = self._server(), self._account_text("token")
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        status, members = server.call("GET", f"/api/v1/namespaces/{namespace}/{_RESOURCES[self.kind]}/{name}", headers)
        which = f"the {self.kind} {name} in the namespace {namespace}"
        match status:
            case 200:
                return _texts(members.get("data"))
            case 401:
                raise StoreRefusalError(f"{server.place} does not accept the token of the service account (401) for {which}")
            case 403:
                raise StoreRefusalError(f"the service account may not get {which} (403)")
            case 404:
                raise StoreRefusalError(f"{which} does not exist (404)")
            case 429 | 500 | 502 | 503 | 504:
                raise StoreUnreachableError(f"{server.place} cannot answer now ({status}) for {which}")
            case _:
                raise StoreRefusalError(f"{server.place} answered {status} for {which}")

    def _server(self) -> Server:
        host = self.environment.get("KUBERNETES_SERVICE_HOST", "")
        port = self.environment.get("KUBERNETES_SERVICE_PORT_HTTPS") or self.environment.get("KUBERNETES_SERVICE_PORT") or "443"
        if not host:
            raise StoreRefusalError("the worker does not run in a pod: KUBERNETES_SERVICE_HOST is not set")
        try:
            tls = ssl.create_default_context(cadata=self._account_text("ca.crt"))
        except ssl.SSLError as problem:
            raise StoreRefusalError(f"{self.account / 'ca.crt'} contains no certificates") from problem
        # Python 3.13 requires extensions of RFC 5280 that the authorities of many clusters do not have.
        tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
        address = f"[{host}]" if ":" in host else host
        return Server("the Kubernetes API", f"https://{address}:{port}", tls, self.limits)

    def _account_text(self, name: str) -> str:
        try:
            return read_regular(self.account / name).decode("ascii").strip()
        except (OSError, ValueError) as problem:
            raise StoreRefusalError(f"the file {self.account / name} of the service account cannot be read") from problem

    def _decoded(self, text: str, key: str, path: str) -> str:
        try:
            return base64.b64decode(text, validate=True).decode()
        except (binascii.Error, ValueError):
            raise StoreRefusalError(f"the key {key} of the Secret {path} is not UTF-8 text") from None


def _texts(data: Any) -> Mapping[str, str]:
    """The members that are text; ``data`` is absent in an empty object."""
    return {key: value for key, value in data.items() if isinstance(value, str)} if isinstance(data, dict) else {}
