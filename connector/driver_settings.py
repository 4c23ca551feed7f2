"""Further connection settings (``driver.*``, ``database.*``) as libpq knows them.

Configurations carry names of the Java driver; those that libpq has under another name or in another unit are translated, libpq's
own names are taken as they are, and the rest has no effect. Sources: PostgreSQL manual, 34.1.2; pgjdbc documentation, "Connection
parameters".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

_OURS: Final = frozenset(
    {"host", "hostaddr", "port", "user", "password", "dbname", "replication", "client_encoding", "service", "servicefile"}
)
"""Named by properties of their own, or fixed because the connector depends on them."""

_OWN_NAMES: Final = frozenset(
    {
        "application_name",
        "channel_binding",
        "connect_timeout",
        "gssdelegation",
        "gssencmode",
        "gsslib",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "krbsrvname",
        "load_balance_hosts",
        "options",
        "passfile",
        "require_auth",
        "requirepeer",
        "ssl_max_protocol_version",
        "ssl_min_protocol_version",
        "sslcert",
        "sslcertmode",
        "sslcompression",
        "sslcrl",
        "sslcrldir",
        "sslkey",
        "sslmode",
        "sslnegotiation",
        "sslpassword",
        "sslrootcert",
        "sslsni",
        "target_session_attrs",
        "tcp_user_timeout",
    }
)

_Translation = tuple[str, Callable[[str], str | None]]
_TARGETS: Final = {
    "any": "any",
    "primary": "primary",
    "master": "primary",
    "secondary": "standby",
    "slave": "standby",
    "preferslave": "prefer-standby",
    "prefersecondary": "prefer-standby",
}


def _switch(text: str) -> str:
    return "1" if text.lower() == "true" else "0"


_JAVA_NAMES: Final[Mapping[str, _Translation]] = {
    "ApplicationName": ("application_name", str),
    "channelBinding": ("channel_binding", str.lower),
    "connectTimeout": ("connect_timeout", str),
    "gssEncMode": ("gssencmode", lambda text: {"allow": "prefer"}.get(text.lower(), text.lower())),
    "kerberosServerName": ("krbsrvname", str),
    "loadBalanceHosts": ("load_balance_hosts", lambda text: "random" if text.lower() == "true" else "disable"),
    "loginTimeout": ("connect_timeout", str),
    "requireAuth": ("require_auth", str),
    "ssl": ("sslmode", lambda text: "verify-full" if text.lower() in ("true", "") else None),
    "sslNegotiation": ("sslnegotiation", str.lower),
    "targetServerType": ("target_session_attrs", lambda text: _TARGETS.get(text.lower())),
    "tcpKeepAlive": ("keepalives", _switch),
}
"""pgjdbc's name to libpq's, and the value; None when libpq has no such value."""


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """``libpq`` are connection parameters over the connector's own; ``options`` begins the server's command-line options.

    ``idle`` are names without effect, as they were given.
    """

    libpq: Mapping[str, str]
    options: str
    idle: tuple[str, ...]


_SQL: Final = (
    "database.initial.statements",
    "heartbeat.action.query",
    "plugin.name",
    "publication.name",
    "replica.identity.autoset.values",
    "signal.data.collection",
    "slot.name",
    "slot.stream.params",
    "snapshot.select.statement.overrides",
)
"""Properties that go into statements; those under the last one's name too."""


def cut_values(given: Mapping[str, str]) -> list[str]:
    """The properties whose values libpq would cut at a NUL: what goes into connection strings first, then what goes into statements.

    In a connection string all that follows would be lost with it, such as how the server's certificate is checked.
    """
    with_nul = [name for name, value in given.items() if "\0" in value]
    statements = [name for name in with_nul if in_statements(name)]
    return [*(name for name in with_nul if name.startswith(("database.", "driver.")) and name not in statements), *statements]


def in_statements(name: str) -> bool:
    """Whether the property's value goes into statements, which a look at the database does not run."""
    return name in _SQL or name.startswith(f"{_SQL[-1]}.")


def idle_settings(given: Mapping[str, str]) -> list[str]:
    """Tell of settings without effect, by the names they may have been given under."""
    return [
        f"Property driver.{name} or database.{name} has no effect: libpq has no such setting." for name in connection_settings(given).idle
    ]


def connection_settings(given: Mapping[str, str]) -> DriverSettings:
    """Translate pass-through settings (names without their prefix). No value is ever told of: some are secret."""
    taken: dict[str, str] = {}
    options: list[str] = []
    idle: list[str] = []
    for name, text in given.items():
        value = text.strip()
        if name == "currentSchema":
            options.append("-c search_path=" + value.replace("\\", "\\\\").replace(" ", "\\ "))
        elif name == "options":
            options.append(value)
        elif name in _OWN_NAMES and name not in _OURS:
            taken[name] = value
        elif name in _JAVA_NAMES:
            own, translate = _JAVA_NAMES[name]
            translated = translate(value)
            if translated is None:
                idle.append(name)
            else:
                taken.setdefault(own, translated)
        else:
            idle.append(name)
    return DriverSettings(taken, " ".join(options), tuple(idle))
