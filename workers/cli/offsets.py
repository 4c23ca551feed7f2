"""``understudy offsets``: a connector's stored offsets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from workers.cli.json_text import read_json
from workers.cli.output import Output, with_output
from workers.cli.rest import Rest, connector_path, with_rest


@click.command("offsets")
@click.argument("name")
@click.option(
    "--alter", type=click.Path(path_type=Path), metavar="FILE|-", help="Store the offsets of this file: the JSON that this command prints."
)
@click.option("--reset", is_flag=True, help="Remove all offsets.")
@with_rest
@with_output
def command(name: str, alter: Path | None, reset: bool, rest: Rest, out: Output) -> None:
    """Show the offsets of connector NAME, store other ones, or remove them.

    The connector must be STOPPED before its offsets can change.
    """
    path = connector_path(name, "/offsets")
    if alter is not None and reset:
        raise click.UsageError("--alter and --reset exclude each other.")
    if alter is None and not reset:
        found = rest.get(path)
        _show(out, found)
        return
    said = rest.call("DELETE", path) if reset else rest.call("PATCH", path, read_offsets(alter))
    if out.text:
        out.line(said["message"])
    else:
        out.json(said)


def read_offsets(file: Path | None) -> dict[str, Any]:
    """The body of PATCH. Raises UsageError for a file that holds none."""
    named = "-" if file is None else str(file)
    try:
        with click.open_file(named, "rb") as opened:
            body = read_json(opened.read())
    except (OSError, ValueError) as problem:
        raise click.UsageError(f"The file {named} cannot be read as JSON: {problem}") from problem
    if not isinstance(body, dict) or not isinstance(body.get("offsets"), list):
        raise click.UsageError(f'The file {named} holds no offsets. Write {{"offsets": [{{"partition": …, "offset": …}}]}}.')
    return body


def _show(out: Output, found: dict[str, Any]) -> None:
    if not out.text:
        out.json(found)
        return
    if not found["offsets"]:
        out.line("No offset is stored.")
    for each in found["offsets"]:
        out.line(json.dumps(each["partition"], ensure_ascii=False), "bold")
        members = each["offset"] or {}
        out.table(("", ""), [(name, _value(name, value)) for name, value in members.items()])


def _value(name: str, value: object) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    if name.startswith("lsn") and isinstance(value, int) and name != "lsn_events_processed":
        from connector.wire.lsn import format_lsn  # noqa: PLC0415

        return f"{shown} ({format_lsn(value)})"
    return shown
