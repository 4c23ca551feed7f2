"""``understudy signal``: a signal to a running connector."""

from __future__ import annotations

from typing import Any

import click

from workers.cli.json_text import read_json
from workers.cli.output import Output, with_output
from workers.cli.rest import Rest, with_rest
from workers.cli.sending import Access, Sent, send, with_access


@click.command("signal")
@click.argument("name")
@click.argument("kind", metavar="TYPE")
@click.argument("data", metavar="[JSON]", required=False)
@click.option("--id", "signal_id", help="The signal's id, which later messages repeat. Default: a new one.")
@with_access
@with_rest
@with_output
def command(name: str, kind: str, data: str | None, signal_id: str | None, access: Access, rest: Rest, out: Output) -> None:
    """Send the signal TYPE, with JSON as its data, to the connector NAME.

    For example: understudy signal shop log '{"message": "at {}"}'
    """
    shown(out, send(rest, name, kind, read_data(data), access, signal_id))


def read_data(text: str | None) -> dict[str, Any] | None:
    """The data of a signal. Raises UsageError for anything but a JSON object."""
    if text is None:
        return None
    try:
        data = read_json(text)
    except ValueError as problem:
        raise click.UsageError(f"The signal's data are not JSON: {problem}") from problem
    if not isinstance(data, dict):
        raise click.UsageError("The signal's data must be a JSON object.")
    return data


def shown(out: Output, sent: Sent) -> None:
    """Print what was sent."""
    if out.text:
        out.line(f"Sent as {sent.id} by {sent.via} to {sent.place}.", "green")
    else:
        out.json(sent.as_json())
