"""Kubernetes' own API server beside a test, with etcd: the proof that the stand-in answers as it does.

Nothing fetches the two programs. ``UNDERSTUDY_TEST_KUBERNETES`` names the folder with ``kube-apiserver`` and ``etcd``. Go builds them from
``k8s.io/kubernetes/cmd/kube-apiserver`` (1.33.4, where ``go.mod`` has ``k8s.io/api`` and the others of ``staging`` replaced by their
0.33.4) and ``go.etcd.io/etcd/server/v3`` (3.6.4), in ten minutes on two cores.
"""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from signal import Signals
from typing import Any, Final

import httpx

from tests.support.project import TLS
from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until

VARIABLE: Final = "UNDERSTUDY_TEST_KUBERNETES"
AUTHORITY: Final = TLS / "authority.pem"
TOKEN: Final = "token-of-the-mirror"
"""The driver's user has the rights of :data:`RIGHTS` and no others."""
RIGHTS: Final = {
    "pods": ["get", "list", "watch", "create", "delete", "deletecollection"],
    "configmaps": ["create", "deletecollection"],
}
"""What docs/spark.md tells users to grant."""
_ADMINISTRATOR: Final = "token-of-the-administrator"
_ROLES: Final = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
SECONDS: Final = 300.0


@contextmanager
def kube_apiserver(programs: Path, folder: Path) -> Iterator[httpx.Client]:
    """An API without pods, within the block. The client is its administrator's."""
    folder.mkdir()
    key, tokens = folder / "accounts.key", folder / "tokens.csv"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    tokens.write_text(f'{_ADMINISTRATOR},administrator,1,"system:masters"\n{TOKEN},mirror,2\n', encoding="ascii")
    store, peers, port = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}", free_port()

    with ExitStack() as stack:

        def start(program: str, **options: object) -> Process:
            words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
            process = Process([programs / program, *words], folder / f"{program}.log")
            stack.callback(process.stop, Signals.SIGTERM)
            return process

        urls = {"listen_client_urls": store, "advertise_client_urls": store, "listen_peer_urls": peers}
        etcd = start("etcd", data_dir=folder / "etcd", **urls)
        server = start(
            "kube-apiserver",
            etcd_servers=store,
            bind_address="127.0.0.1",
            advertise_address="127.0.0.1",
            secure_port=port,
            # It would refuse to publish a loopback address as that of the service `kubernetes`.
            endpoint_reconciler_type="none",
            tls_cert_file=TLS / "server.pem",
            tls_private_key_file=TLS / "server.pem",
            service_account_key_file=key,
            service_account_signing_key_file=key,
            service_account_issuer="https://127.0.0.1",
            token_auth_file=tokens,
            authorization_mode="RBAC",
            # No controller makes the namespace's account.
            disable_admission_plugins="ServiceAccount",
        )
        trusted = ssl.create_default_context(cafile=AUTHORITY)
        bearer = {"Authorization": f"Bearer {_ADMINISTRATOR}"}
        api = stack.enter_context(httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusted, headers=bearer, timeout=60))

        def ready() -> bool:
            for process in (etcd, server):
                assert process.running, process.last_words()
            try:
                return api.get("/readyz").is_success and api.get("/api/v1/namespaces/default").is_success
            except httpx.TransportError:
                return False

        wait_until(ready, server.last_words, SECONDS)
        _grant(api)
        yield api


def _grant(api: httpx.Client) -> None:
    group = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": [kind], "verbs": verbs} for kind, verbs in RIGHTS.items()]
    subject = {"apiGroup": group, "kind": "User", "name": "mirror"}
    bound = {"roleRef": {"apiGroup": group, "kind": "Role", "name": "mirror"}, "subjects": [subject]}
    wanted: dict[str, dict[str, Any]] = {"roles": {"rules": rules}, "rolebindings": bound}
    for kind, document in wanted.items():
        api.post(f"{_ROLES}/{kind}", json={"metadata": {"name": "mirror"}, **document}).raise_for_status()
