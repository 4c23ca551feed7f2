"""The environment variables of libpq (``PGHOSTADDR``, ``PGTZ``, …), which a connector's connections do not use.

A connector's configuration alone describes its connection, as with the Java driver. Otherwise a variable of the worker could lead the
connector to another server, or change the text of values, which the codecs then cannot parse: libpq sends some variables as settings of the
session, and these win over the settings of the connection's ``options``.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Final

from psycopg import pq

_USED: Final = "PGPASSFILE"
"""The file of passwords. The Java driver reads it too, for a connection without a password."""
_WITHOUT_PARAMETER: Final = ("PGDATESTYLE", "PGGEQO", "PGREQUIRESSL", "PGSERVICEFILE", "PGSYSCONFDIR", "PGTZ")
_READ_BY_PSYCOPG: Final = ("hostaddr", "load_balance_hosts", "target_session_attrs")
"""Parameters that psycopg looks up in ``os.environ`` itself if the connection does not give them."""


def ignore_environment() -> tuple[str, ...]:
    """Hide libpq's variables from libpq and from processes that inherit the environment, and return the names of those that are set.

    ``os.environ`` keeps them, because a configuration may refer to them (``${env:PGPASSWORD}``).
    """
    found = tuple(name for name in _variables() if name in os.environ)
    for name in found:
        os.unsetenv(name)
    return found


@cache
def own_defaults() -> dict[str, str]:
    """Parameters without which psycopg would use the environment, with the values that libpq has by default."""
    return {keyword: compiled for keyword, _, compiled in _parameters() if keyword in _READ_BY_PSYCOPG}


@cache
def _variables() -> tuple[str, ...]:
    names = {variable for _, variable, _ in _parameters() if variable.startswith("PG")}
    return tuple(sorted((names | set(_WITHOUT_PARAMETER)) - {_USED}))


def _parameters() -> tuple[tuple[str, str, str], ...]:
    def text(part: bytes | None) -> str:
        return (part or b"").decode()

    return tuple((text(option.keyword), text(option.envvar), text(option.compiled)) for option in pq.Conninfo.get_defaults())
