"""The command line: its subcommands, each imported when it is called."""

from __future__ import annotations

import io
import logging
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from connector.errors import CdcError
from workers.cli.failure import CommandError
from workers.cli.output import plain
from workers.settings.worker_settings import SettingsError
from workers.telemetry.logging import configure

WORKER: Final = "Run a Connect worker."
COMMANDS: Final = {
    "check": "Check a connector's configuration as a worker would.",
    "status": "Show the states of connectors and their tasks.",
    "offsets": "Show, change or remove a connector's offsets.",
    "snapshot": "Read tables of a running connector again.",
    "signal": "Send a signal to a running connector.",
    "tail": "Show the events of a topic as they come.",
    "migrate": "Say what happens to a Kafka Connect cluster's connectors here.",
    "quickstart": "Run PostgreSQL, Kafka and a worker on this machine.",
    "docs": "Show the pages of the documentation.",
}
"""Subcommand → what the list of commands says about it."""


class Commands(click.Group):
    """The subcommands. ``understudy --help`` and completion import none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """The worker first."""
        return ["worker", *COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command; None for an unknown name. Only a command that is called is imported."""
        if cmd_name == "worker":
            return _worker
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f"workers.cli.{cmd_name}").command
        return found

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin with ``incomplete``, without an import."""
        known = [CompletionItem(name, help=said) for name, said in (("worker", WORKER), *COMMANDS.items()) if name.startswith(incomplete)]
        return [*known, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of ``--help``, without an import."""
        with formatter.section("Commands"):
            formatter.write_dl([("worker", WORKER), *COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Expected failures become one line on standard error and exit code 1."""
        try:
            return super().invoke(ctx)
        except (CdcError, SettingsError) as problem:
            raise CommandError(str(problem)) from problem


@click.command("worker", help=WORKER)
@click.argument("properties", required=False, type=click.Path(dir_okay=False))
def _worker(properties: str | None) -> None:
    """Stand for the worker in help and completion. :func:`workers.__main__.main` starts it before this module is imported."""
    raise click.UsageError(f"Write `understudy worker {properties or ''}`, with `worker` first.")


def _log(_context: click.Context, _option: click.Parameter, verbose: bool) -> None:
    if verbose:
        configure()
    else:
        # What a command has to say is in its answer; the log would be between its lines.
        logging.getLogger().addHandler(logging.NullHandler())


def command_line(words: list[str], about: str) -> int:
    """Run the command of ``words`` and return its exit code. ``about`` is the text of ``--version``."""
    group = Commands(
        "understudy",
        help="Kafka Connect with the Debezium PostgreSQL connector. Answers are text on a terminal and JSON in a pipe.",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    click.version_option("", message=about)(group)
    click.option("-v", "--verbose", is_flag=True, callback=_log, expose_value=False, is_eager=True, help="Log to standard error.")(group)
    _open_output()
    # click's main() answers completion's requests before it looks at the words.
    try:
        _check_words(words)
        done = group.main(words, prog_name="understudy", standalone_mode=False)
    except click.ClickException as failure:
        told = io.StringIO()
        failure.show(told)
        # It may quote a file or a server's answer.
        click.echo(plain(told.getvalue()), err=True, nl=False)
        return failure.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    return done if isinstance(done, int) else 0


def _open_output() -> None:
    """Let every text be printed: characters that the output's encoding lacks as escapes, and, if it is closed, nowhere."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 (until the process ends)
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _check_words(words: list[str]) -> None:
    """Raise UsageError for a word that is not UTF-8, unless it names a file: nothing else can be sent to a server."""
    for number, word in enumerate(words, 1):
        if any("\udc80" <= character <= "\udcff" for character in word) and not Path(word).exists():
            raise click.UsageError(f"Argument {number} is not UTF-8.")
