"""The calls of the phase `console`: the pages of the web console, and the parts that they load again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from typing import Final
from urllib.parse import urlencode

from workers.lab.bench.rest.caller import HOST, Call, call
from workers.lab.bench.rest.fleet import Member
from workers.lab.bench.rest.interface import CALLS, WRITES, named

TOKEN: Final = "0" * 43
"""Any text of this length: the check is that form and cookie agree."""
LOOKS: Final = "/ladder"
"""The page that waits for PostgreSQL."""


def console(members: Sequence[Member], config: Callable[[str], bytes]) -> Iterator[tuple[str, Sequence[Call]]]:
    """Obeys :data:`workers.lab.bench.rest.fleet.Kinds`."""
    for path in ("", "/overview", "/flows", "/workers", "/plugins", "/new", "/static/htmx.min.js"):
        yield f"GET /ui{path}", [call("GET", f"/ui{path}")] * CALLS
    running = named(members, "RUNNING")
    for below in ("", "/live", "/ladder", "/config", "/events", "/offsets"):
        calls = [call("GET", f"/ui/connectors/{name}{below}") for name in running]
        yield f"GET /ui/connectors/{{c}}{below}", list(islice(cycle(calls), WRITES if below == LOOKS else CALLS))
    checks = [_check(member.name, config(member.name)) for member in members]
    yield "POST /ui/validate", list(islice(cycle(checks), WRITES))


def _check(name: str, config: bytes) -> Call:
    form = {"csrf": TOKEN, "connector": name, "raw": config.decode()}
    headers = {"Origin": f"http://{HOST}", "Cookie": f"understudy_csrf={TOKEN}", "Content-Type": "application/x-www-form-urlencoded"}
    return call("POST", "/ui/validate", urlencode(form).encode(), headers=headers)
