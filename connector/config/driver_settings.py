"""Further connection settings (``driver.*``, ``database.*``), translated for libpq.

Configurations use names of the Java driver. Those that libpq has under another name or in another unit are translated; libpq's own names
are used unchanged; all others have no effect. Sources: PostgreSQL manual, 34.1.2; pgjdbc documentation, "Connection parameters".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

_OURS: Final = frozenset(
    {"host", "hostaddr", "port", "user", "password", "dbname", "replication", "client_encoding", "service", "servicefile"}
)
"""Settings that other properties set, or that are fixed because the connector depends on them."""

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
"""For each name of pgjdbc, libpq's name and a function for the value, which returns None if libpq has no such value."""


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """``libpq`` are connection parameters that override the connector's; ``options`` begins the server's command-line options.

    ``idle`` are the given names that have no effect.
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
"""Properties whose values become part of statements, with the last one also properties whose names it begins."""


def cut_values(given: Mapping[str, str]) -> list[str]:
    """Return the properties whose values libpq would truncate at a NUL: first those in connection strings, then those in statements.

    In a connection string, libpq would ignore everything after the NUL, such as the verification of the server's certificate.
    """
    with_nul = [name for name, value in given.items() if "\0" in value]
    statements = [name for name in with_nul if in_statements(name)]
    return [*(name for name in with_nul if name.startswith(("database.", "driver.")) and name not in statements), *statements]


def in_statements(name: str) -> bool:
    """Return whether the property's value becomes part of statements, which the preflight does not run."""
    return name in _SQL or name.startswith(f"{_SQL[-1]}.")


def idle_settings(given: Mapping[str, str]) -> list[str]:
    """Return notices about settings without effect, under the names that they may have been given."""
    return [
        f"Property driver.{name} or database.{name} has no effect: libpq has no such setting." for name in connection_settings(given).idle
    ]


def connection_settings(given: Mapping[str, str]) -> DriverSettings:
    """Translate pass-through settings (names without their prefix)."""
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
