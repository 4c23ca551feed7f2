"""The calls of the phase `rest`: the REST interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from typing import Final

from workers.lab.bench.rest.caller import Call, call
from workers.lab.bench.rest.fleet import Member

CALLS: Final = 400
"""Calls of each kind, by all clients together."""
WRITES: Final = 80
"""Calls of each kind that waits for Kafka or PostgreSQL, by all clients together."""


def interface(members: Sequence[Member], config: Callable[[str], bytes]) -> Iterator[tuple[str, Sequence[Call]]]:
    """Obeys :data:`workers.lab.bench.rest.fleet.Kinds`."""
    for path in (
        "/",
        "/health",
        "/connectors",
        "/connectors?expand=info",
        "/connectors?expand=status",
        "/connectors?expand=info&expand=status",
        "/connector-plugins",
        "/connector-plugins/Postgres/config",
        "/admin/loggers",
        "/openapi.json",
    ):
        yield f"GET {path}", [call("GET", path)] * CALLS
    for below in ("", "/config", "/status", "/tasks", "/topics", "/offsets"):
        calls = [call("GET", f"/connectors/{member.name}{below}") for member in members]
        yield f"GET /connectors/{{c}}{below}", list(islice(cycle(calls), CALLS))
    running, paused = (named(members, state) for state in ("RUNNING", "PAUSED"))
    for below in ("/tasks/0/status", "/progress", "/notifications"):
        calls = [call("GET", f"/connectors/{name}{below}") for name in running]
        yield f"GET /connectors/{{c}}{below}", list(islice(cycle(calls), CALLS))
    # The connectors are in the requested states already, so the call is measured and not the start of tasks.
    for verb, meant in (("pause", paused), ("resume", running)):
        calls = [call("PUT", f"/connectors/{name}/{verb}", expected=202) for name in meant]
        yield f"PUT /connectors/{{c}}/{verb}", list(islice(cycle(calls), WRITES))
    changes = [call("PUT", f"/connectors/{name}/config", config(name)) for name in paused]
    yield "PUT /connectors/{c}/config", list(islice(cycle(changes), WRITES))


def named(members: Sequence[Member], state: str) -> list[str]:
    """The names of the connectors in this state."""
    return [member.name for member in members if member.state == state]
