"""Random calls about levels of loggers that nothing logs to, one after the other; their names begin with the run's own prefix."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from random import Random
from typing import Any, Final
from urllib.parse import quote

from .call import JSON, Answer, Call
from .validations import Difference

_PATIENCE_S: Final = 5.0
_PAUSE_S: Final = 0.05
_NAMES: Final = ("", ".a", ".a.b", ".A", ".é", ".$1")
_LEVELS: Final = (
    "INFO",
    "WARN",
    "ERROR",
    "DEBUG",
    "TRACE",
    "FATAL",
    "OFF",
    "ALL",
    "info",
    "Warn",
    " INFO",
    "x",
    "WARNING",
    "CRITICAL",
    None,
    1,
)
_SCOPES: Final = ("", "", "?scope=worker", "?scope=cluster", "?scope=CLUSTER", "?scope=", "?scope=x", "?scope")


def random_sequence(random: Random, prefix: str) -> Iterator[Call]:
    """Calls about loggers below ``prefix``, which no other sequence has."""
    for _ in range(random.randint(2, 8)):
        target = f"/admin/loggers/{quote(prefix + random.choice(_NAMES), safe='')}"
        if random.random() < 0.4:
            yield Call("GET", target)
        else:
            yield Call("PUT", target + random.choice(_SCOPES), json.dumps({"level": random.choice(_LEVELS)}).encode(), JSON)
            yield Call("GET", target)


def answers(call: Call, url: str, own_url: str) -> tuple[Answer, Answer]:
    """The answers of both workers. A level for the cluster reaches the reference's worker by a topic, so it may come later."""
    end = time.monotonic() + _PATIENCE_S
    while True:
        theirs, ours = call.send(url), call.send(own_url)
        if call.method != "GET" or not compare(theirs, ours) or time.monotonic() > end:
            return theirs, ours
        time.sleep(_PAUSE_S)


def compare(theirs: Answer, ours: Answer) -> list[Difference]:
    """The differences of two answers; the time of a change only as to whether there is one."""
    left, right = ([answer.status, _plain(answer.json)] for answer in (theirs, ours))
    return [] if left == right else [("answer", left, right)]


def _plain(body: Any) -> Any:
    if isinstance(body, dict) and "last_modified" in body:
        return {**body, "last_modified": body["last_modified"] is not None}
    return body
