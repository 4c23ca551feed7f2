"""``understudy status``: the states of connectors and their tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import click

from workers.cli.failure import FOUND, OK, CommandError
from workers.cli.output import Output, with_output
from workers.cli.rest import RefusedError, Rest, connector_path, with_rest

_SHOWN: Final = 110
"""Characters of an error in the list of connectors."""


@click.command("status")
@click.argument("name", required=False)
@with_rest
@with_output
def command(name: str | None, rest: Rest, out: Output) -> int:
    """Show the state of connector NAME, or of all connectors.

    The exit code is 1 if a connector or a task is FAILED.
    """
    if name is None:
        listed = rest.get("/connectors", expand="status")
        found = [state_of(each["status"]) for _, each in sorted(listed.items())]
    else:
        found = [state_of(rest.get(connector_path(name, "/status")))]
    _add_progress(rest, found)
    if not out.text:
        out.json(found if name is None else found[0])
    elif name is None:
        _table(out, found)
    else:
        _page(out, found[0])
    return FOUND if any(failed(each) for each in found) else OK


def state_of(status: Mapping[str, Any]) -> dict[str, Any]:
    """One connector, from the answer of ``GET /connectors/{name}/status``. An error is the first line of the trace."""
    own = status["connector"]
    tasks = [{"id": task["id"], "state": task["state"], "worker": task["worker_id"], "error": _error(task)} for task in status["tasks"]]
    return {
        "name": status["name"],
        "state": own["state"],
        "worker": own["worker_id"],
        "error": _error(own),
        "tasks": tasks,
        "progress": None,
    }


def failed(state: Mapping[str, Any]) -> bool:
    """Whether the connector or one of its tasks is FAILED."""
    return "FAILED" in (state["state"], *(task["state"] for task in state["tasks"]))


def _error(part: Mapping[str, Any]) -> str | None:
    trace = part.get("trace")
    return str(trace).strip().partition("\n")[0] if trace else None


def _add_progress(rest: Rest, found: Iterable[dict[str, Any]]) -> None:
    for each in found:
        if any(task["state"] == "RUNNING" for task in each["tasks"]):
            try:
                each["progress"] = rest.found(connector_path(each["name"], "/progress"))
            except RefusedError:
                # The connector moves, or its worker does not answer. The states are known nevertheless.
                continue
            except CommandError:
                # No answer at all: each further call would wait as long.
                return
            if each["progress"] is None:
                # Kafka Connect has no such call, for no connector.
                return


def phase(progress: Mapping[str, Any] | None) -> str:
    """What a running task does now, in a few words."""
    if progress is None:
        return ""
    if progress["phase"] == "snapshot":
        return f"snapshot: {progress['tables_done']} of {len(progress['tables'])} tables, {progress['rows']} rows"
    last = progress["last_event_source_ms"]
    since = f", last at {datetime.fromtimestamp(last / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC" if last else ""
    return f"{progress['phase']}, {progress['events']} events{since}"


def _table(out: Output, found: Iterable[Mapping[str, Any]]) -> None:
    rows = []
    for each in found:
        states = [task["state"] for task in each["tasks"]]
        tasks = "FAILED" if "FAILED" in states else ", ".join(sorted(set(states))) or "none"
        error = next((text for text in (each["error"], *(task["error"] for task in each["tasks"])) if text), "")
        shown = error if len(error) <= _SHOWN else error[: _SHOWN - 1] + "…"
        rows.append((each["name"], each["state"], tasks, each["worker"], shown or phase(each["progress"])))
    out.table(("connector", "state", "task", "worker", ""), rows)


def _page(out: Output, state: Mapping[str, Any]) -> None:
    out.table(
        ("", "state", "worker"),
        [
            (f"connector {state['name']}", state["state"], state["worker"]),
            *((f"task {task['id']}", task["state"], task["worker"]) for task in state["tasks"]),
        ],
    )
    for error in (state["error"], *(task["error"] for task in state["tasks"])):
        if error:
            out.line(error, "red")
    progress = state["progress"]
    if progress is None:
        return
    out.line(phase(progress))
    for table in progress["tables"] if progress["phase"] == "snapshot" else ():
        out.line(f"  {table['table']}: {table['rows']} of about {table['estimate']} rows{', done' if table['done'] else ''}")
    if progress["incremental"]:
        now = progress["incremental"]
        paused = ", paused" if now["paused"] else ""
        out.line(
            f"  incremental snapshot of {now['table']['table']}: {now['table']['rows']} rows, {len(now['waiting'])} tables wait{paused}"
        )
