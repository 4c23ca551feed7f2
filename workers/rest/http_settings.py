"""The settings of the REST interface: its addresses, its certificates, its users, and the headers added to answers."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from connect_api.cross_origin import CrossOrigin
from connect_api.hosts import AllowedHosts, host_name
from connect_api.response_headers import HeaderRule
from connector.errors import CdcError, ErrorKind
from workers.rest.connections import Limits
from workers.rest.listeners import Listener, admin_listeners, advertised, listeners
from workers.rest.login import users
from workers.rest.response_rules import cross_origin, header_rules
from workers.rest.tls import client_context, server_context


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Settings of the worker's HTTP servers. A TLS context is None where no https is used."""

    listeners: tuple[Listener, ...]
    admin_listeners: tuple[Listener, ...] | None
    """None: ``listeners`` serve ``/admin``. Empty: no address does."""
    advertised_scheme: str
    advertised_host: str
    advertised_port: int
    tls: ssl.SSLContext | None
    admin_tls: ssl.SSLContext | None
    group_tls: ssl.SSLContext | None
    """For calls to other workers, where this one advertises https."""
    cross_origin: CrossOrigin | None
    header_rules: tuple[HeaderRule, ...]
    allowed_hosts: AllowedHosts | None
    """None: requests for every host are answered."""
    limits: Limits
    users: Mapping[str, str] | None = field(repr=False)
    """User → password; None: no login is required."""

    @property
    def advertised_url(self) -> str:
        """The URL to which other workers of the group forward this worker's calls."""
        host = f"[{self.advertised_host}]" if ":" in self.advertised_host else self.advertised_host
        return f"{self.advertised_scheme}://{host}:{self.advertised_port}"

    @staticmethod
    def from_properties(properties: Mapping[str, str]) -> HttpSettings:
        """Read the resolved ``properties`` and the files that they name.

        Raises CdcError(CONFIG_INVALID) that names the unsupported or invalid property.
        """
        served, admin = listeners(properties), admin_listeners(properties)
        scheme, host, port = advertised(properties, served)
        return HttpSettings(
            listeners=served,
            admin_listeners=admin,
            advertised_scheme=scheme,
            advertised_host=host,
            advertised_port=port,
            tls=server_context(properties, "listeners.https.") if any(lis.https for lis in served) else None,
            admin_tls=server_context(properties, "admin.listeners.https.") if any(lis.https for lis in admin or ()) else None,
            group_tls=client_context(properties, "listeners.https.") if scheme == "https" else None,
            cross_origin=cross_origin(properties),
            header_rules=header_rules(properties),
            allowed_hosts=_allowed_hosts(properties, host),
            limits=Limits.from_properties(properties),
            users=users(properties),
        )


def _allowed_hosts(properties: Mapping[str, str], own: str) -> AllowedHosts | None:
    """The hosts of ``rest.allowed.hosts`` and ``own``, the advertised host, by which other workers of the group call this one."""
    names = [name.strip() for name in properties.get("rest.allowed.hosts", "").split(",") if name.strip()]
    for name in names:
        if host_name(name) is None or "*" in name:
            raise CdcError(ErrorKind.CONFIG_INVALID, f"The worker property rest.allowed.hosts holds {name}", "Write names of hosts there.")
    return AllowedHosts([*names, own]) if names else None
