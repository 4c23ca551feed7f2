"""How a command ends without success: the text on standard error, and the exit code."""

from __future__ import annotations

from typing import IO, Any, Final

import click

OK: Final = 0
FOUND: Final = 1
"""The command found or met a problem."""
USAGE: Final = 2
"""The call itself is wrong: an unknown option, a file that cannot be read."""


class CommandError(click.ClickException):
    """The command cannot do its work. ``remedy`` says what to do about it."""

    exit_code = FOUND

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message.rstrip('.')}. {remedy}" if remedy else message)

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the text as the worker writes its own failures."""
        click.echo(f"understudy: {self.format_message()}", file=file, err=True)
