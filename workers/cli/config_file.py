"""Reads the file of a connector's configuration in the forms in which people keep them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from connect_api import bodies
from connect_api.herder import HerderError
from connect_api.request_error import RequestError
from connector.java.properties import read_properties


def read_config(file: str, name: str | None = None) -> tuple[str, dict[str, str | None]]:
    """Name and configuration of the connector in ``file`` (``-``: standard input).

    The file holds the body of POST (``{"name", "config"}``), that of PUT (the bare properties), or a ``.properties`` file. The name is
    ``name``, else the one in the file, else the file's own. Raises UsageError for a file that is none of these.
    """
    try:
        with click.open_file(file, "rb") as opened:
            content: bytes = opened.read()
        return parse_config(
            content, name or Path(file).stem.replace("-", "", file == "-") or "check", properties=file.endswith(".properties"), forced=name
        )
    except OSError as problem:
        raise click.UsageError(f"The file {file} cannot be read: {problem.strerror}.") from problem
    except (RequestError, HerderError, ValueError) as problem:
        raise click.UsageError(f"The file {file} is not a connector's configuration. {getattr(problem, 'message', problem)}") from problem


def parse_config(content: bytes, name: str, *, properties: bool, forced: str | None = None) -> tuple[str, dict[str, str | None]]:
    """Name and configuration in ``content``. ``name`` counts if the content has none; ``forced`` replaces the one of the content.

    Raises RequestError, HerderError and ValueError as the worker does for such a body.
    """
    if properties or not content.lstrip().removeprefix(b"\xef\xbb\xbf").startswith(b"{"):
        text: Mapping[str, str | None] = read_properties(content)
        if not text:
            raise ValueError("It has no property.")
        return _named(dict(text), name, forced)
    fields = bodies.parse_object(content)
    if isinstance(fields.get("config"), dict):
        if forced is None:
            created = bodies.new_connector(content)
            return _named(dict(created.config), created.name or name, None)
        config = fields["config"]
        assert isinstance(config, dict)  # noqa: S101 (looked at above; for mypy)
        fields = config
    return _named(bodies.texts(fields), name, forced)


def _named(config: dict[str, str | None], name: str, forced: str | None) -> tuple[str, dict[str, str | None]]:
    chosen = forced or config.get("name") or name
    return chosen, {**config, "name": chosen}
