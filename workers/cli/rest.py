"""Calls to a worker's REST interface, of Understudy or of Kafka Connect."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click

from workers.cli.failure import CommandError
from workers.settings.worker_address import check_url, netrc_login, shown_url

if TYPE_CHECKING:
    import httpx

DEFAULT_URL: Final = "http://localhost:8083"
PASSWORD: Final = "UNDERSTUDY_PASSWORD"  # noqa: S105 (the variable's name)
_SECONDS: Final = 100.0
"""The limit of a call. A worker that starts holds calls for up to 90 s."""
_UNAUTHORIZED: Final = 401
_NOT_FOUND: Final = 404


class RefusedError(CommandError):
    """The worker answered with an error."""

    def __init__(self, status: int, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.status = status


class Rest:
    """A worker at ``url``, which may hold a login.

    ``user``: name and password of the login. ``netrc``: a file with the login. ``ca_file``: whom https trusts. The attribute ``url`` is for
    messages and has no login.
    """

    def __init__(
        self,
        url: str,
        *,
        user: tuple[str, str] | None = None,
        netrc: Path | None = None,
        ca_file: Path | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        import httpx  # noqa: PLC0415 (the import takes 60 ms)

        base = url.rstrip("/")
        self.url = shown_url(base)
        try:
            check_url(url)
            auth = netrc_login(netrc) if netrc is not None else user
            verify = True if ca_file is None else ssl.create_default_context(cafile=str(ca_file))
            self._client = httpx.Client(base_url=base, auth=auth, verify=verify, timeout=_SECONDS, trust_env=False, transport=transport)
        except httpx.InvalidURL:
            raise click.UsageError(f"The worker's address {self.url} cannot be used") from None
        except (OSError, ValueError) as problem:
            raise click.UsageError(f"The worker's address or login cannot be used: {problem}") from problem
        self._error = httpx.HTTPError

    def call(self, method: str, path: str, body: object = None, *, query: Mapping[str, str] | None = None) -> Any:
        """The JSON of the answer; None without one. Raises RefusedError with the worker's own message, CommandError without an answer."""
        try:
            answer = self._client.request(method, path, json=body, params=query)
        except self._error as problem:
            why = str(problem) or type(problem).__name__
            raise CommandError(
                f"The worker at {self.url} does not answer ({why})", "Check --url or UNDERSTUDY_URL, and that the worker runs."
            ) from problem
        content = _content(answer)
        if answer.is_success:
            return content
        said = content.get("message") if isinstance(content, dict) else None
        message = f"The worker at {self.url} answers {answer.status_code}: {said or answer.text.strip() or answer.reason_phrase}"
        remedy = f"Give --user and {PASSWORD}, or --netrc." if answer.status_code == _UNAUTHORIZED else ""
        raise RefusedError(answer.status_code, message, remedy)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str, **query: str) -> Any:
        """Call with GET."""
        return self.call("GET", path, query=query or None)

    def found(self, path: str) -> Any:
        """As :meth:`get`, and None when the worker answers 404."""
        try:
            return self.get(path)
        except RefusedError as refused:
            if refused.status == _NOT_FOUND:
                return None
            raise


def connector_path(name: str, path: str = "") -> str:
    """The path of a connector's resource."""
    return f"/connectors/{quote(name, safe='')}{path}"


def _content(answer: httpx.Response) -> Any:
    try:
        return answer.json() if answer.content else None
    except ValueError:
        return None


def with_rest(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give the command the options of the worker's address and login, and the argument ``rest``."""

    def collected(*, url: str, user: str | None, netrc: Path | None, ca_file: Path | None, **options: Any) -> Any:
        return command(rest=open_rest(url, user, netrc, ca_file), **options)

    collected.__doc__ = command.__doc__
    collected.__name__ = command.__name__
    collected.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    return rest_options(DEFAULT_URL)(collected)


def rest_options(default: str | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options ``--url``, ``--user``, ``--netrc`` and ``--ca-file``. Without a default only ``--url`` itself names a worker."""
    variable = None if default is None else "UNDERSTUDY_URL"
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    options = (
        click.option("--url", default=default, envvar=variable, show_default=True, show_envvar=True, help="The worker's REST interface."),
        click.option(
            "--user", envvar="UNDERSTUDY_USER", show_envvar=True, help=f"The login's user. The password is in {PASSWORD}, or asked for."
        ),
        click.option("--netrc", type=file, help="A netrc file with the login."),
        click.option(
            "--ca-file",
            type=file,
            envvar="UNDERSTUDY_CA_FILE",
            show_envvar=True,
            help="The authority that signed an https worker's certificate (PEM).",
        ),
    )

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def open_rest(url: str, user: str | None, netrc: Path | None, ca_file: Path | None) -> Rest:
    """The worker that the options name. Asks for a password on a terminal if the environment has none."""
    login = None
    if user is not None:
        name, colon, password = user.partition(":")
        found = password if colon else os.environ.get(PASSWORD)
        login = (name, found if found is not None else click.prompt(f"Password of {name}", hide_input=True, err=True))
    rest = Rest(url, user=login, netrc=netrc, ca_file=ca_file)
    if (context := click.get_current_context(silent=True)) is not None:
        context.call_on_close(rest.close)
    return rest
