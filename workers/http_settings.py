"""How the REST interface is offered: where it listens, with which certificate, to whom, and what is added to its answers."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from connect_api.cross_origin import CrossOrigin
from connect_api.response_headers import HeaderRule
from workers.jaas import users
from workers.listeners import Listener, admin_listeners, advertised, listeners
from workers.response_rules import cross_origin, header_rules
from workers.tls import server_context


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Settings of the worker's HTTP side. A context of TLS is there where a listener of its kind speaks https."""

    listeners: tuple[Listener, ...]
    admin_listeners: tuple[Listener, ...] | None
    """None: ``listeners`` serve ``/admin``. Empty: nobody does."""
    advertised_host: str
    advertised_port: int
    tls: ssl.SSLContext | None
    admin_tls: ssl.SSLContext | None
    cross_origin: CrossOrigin | None
    header_rules: tuple[HeaderRule, ...]
    users: Mapping[str, str] | None = field(repr=False)
    """Passwords by user; None: no login is asked for."""

    @staticmethod
    def from_properties(properties: Mapping[str, str]) -> HttpSettings:
        """Read the resolved ``properties`` and the files that they name.

        Raises CdcError(CONFIG_INVALID) that names the property which cannot be honoured.
        """
        served, admin = listeners(properties), admin_listeners(properties)
        host, port = advertised(properties, served)
        return HttpSettings(
            listeners=served,
            admin_listeners=admin,
            advertised_host=host,
            advertised_port=port,
            tls=server_context(properties, "listeners.https.") if any(lis.https for lis in served) else None,
            admin_tls=server_context(properties, "admin.listeners.https.") if any(lis.https for lis in admin or ()) else None,
            cross_origin=cross_origin(properties),
            header_rules=header_rules(properties),
            users=users(properties),
        )
