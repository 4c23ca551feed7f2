"""The editor of configurations: a form, checks while it is filled in, a review of the difference, and the save."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from connect_api.herder import HerderError
from connect_api.paths import encode
from connector.config.keys import CONNECTOR_CLASS, keys_in
from workers.console import answers, config_form
from workers.console.visit import Visit
from workers.console.watched import WatchedWorker

_PLUGIN: Final = "PostgresConnector"
_BASE: Final = "base"


class Editor:
    """Nothing is stored before the review is confirmed, and nothing if the configuration has changed since the form was opened."""

    def __init__(self, worker: WatchedWorker) -> None:
        self._worker = worker

    async def new(self, visit: Visit) -> Response:
        """The form of a new connector."""
        return self._form(visit, {}, visit.request.query_params.get("mode") == config_form.RAW)

    async def edit(self, visit: Visit) -> Response:
        """The form of a connector's configuration."""
        return self._form(visit, self._stored(visit.connector), visit.request.query_params.get("mode") == config_form.RAW)

    async def validate(self, visit: Visit) -> Response:
        """Check what the form holds now, as REST does, and show the results beside the fields."""
        try:
            found = await self._results(visit, *self._asked(visit, visit.form.get("connector", "")))
        except HerderError as problem:
            return visit.page("findings.html", results=[], problem=problem.message)
        return visit.page("findings.html", results=found, problem="")

    async def review(self, visit: Visit) -> Response:
        """Show the difference and the results of the checks, before anything is stored."""
        name = visit.connector
        wanted, stored = self._asked(visit, name)
        if name:
            _check_base(visit, stored)
        results = await self._results(visit, wanted, stored)
        return visit.page(
            "review.html",
            title=f"Review {name or wanted.get('name', 'the new connector')}",
            name=name,
            changes=config_form.changes(stored, wanted),
            results=results,
            wrong=any(each["errors"] for each in results),
            wanted=json.dumps(_hidden_again(wanted, stored), ensure_ascii=False),
            base=visit.form.get(_BASE, ""),
        )

    async def save(self, visit: Visit) -> Response:
        """Store the reviewed configuration of a connector."""
        wanted, stored = self._asked(visit, visit.connector)
        _check_base(visit, stored)
        await visit.rest.of_connector("PUT", visit.connector, "/config", wanted)
        return answers.redirect(f"/ui/connectors/{encode(visit.connector)}")

    async def create(self, visit: Visit) -> Response:
        """Create the reviewed connector."""
        wanted, _ = self._asked(visit, "")
        await visit.rest.call("POST", "/connectors", {"name": wanted.get("name", ""), "config": wanted})
        return answers.redirect(f"/ui/connectors/{encode(wanted['name'])}")

    def _stored(self, name: str) -> Mapping[str, str]:
        return self._worker.connector_info(name).config

    def _asked(self, visit: Visit, name: str) -> tuple[dict[str, str], Mapping[str, str]]:
        """The configuration that the form asks for, and the stored one of the connector ``name``; no name: of a new connector."""
        if name:
            stored = self._stored(name)
            return config_form.submitted(visit.form, stored), stored
        wanted = config_form.submitted(visit.form, {})
        if "name" in wanted:
            # REST takes the blanks off the name of a new connector, and then refuses a configuration that has them.
            wanted["name"] = wanted["name"].strip()
        if wanted.get("name") in (".", ".."):
            raise HerderError(
                400, f"A browser cannot open a connector named {wanted['name']}, which means a folder in addresses. Rename it."
            )
        return wanted, {}

    def _form(self, visit: Visit, config: Mapping[str, str], raw: bool) -> Response:
        name = visit.connector
        version = self._worker.version_for(config)
        keys = self._worker.plugin_config(_PLUGIN, version)
        choices = {key.name: key.choices_in(version) for key in keys_in(version)}
        shown = config or {"connector.class": CONNECTOR_CLASS, "name": ""}
        return visit.page(
            "editor.html",
            title=f"Configuration of {name}" if name else "New connector",
            name=name,
            groups=[] if raw else config_form.groups(keys, config, choices),
            others="" if raw else config_form.others(keys, config),
            raw=config_form.raw(shown) if raw else "",
            connector_class=CONNECTOR_CLASS,
            base=_mark(config),
        )

    async def _results(self, visit: Visit, config: Mapping[str, str], stored: Mapping[str, str]) -> list[dict[str, Any]]:
        # A check connects to the database: a changed host would be sent the stored password, or what a reference stands for.
        if visit.read_only and config != stored:
            raise HerderError(403, "This console is read-only (console.read.only=true). It checks stored configurations only.")
        found = await visit.rest.call("PUT", f"/connector-plugins/{_PLUGIN}/config/validate?warnings=true", config)
        return [each["value"] for each in found["configs"] if each["value"]["errors"] or each["value"].get("warnings")]


def _check_base(visit: Visit, stored: Mapping[str, str]) -> None:
    """Raise HerderError(409) unless the stored configuration is still the one that the form showed."""
    if visit.form.get(_BASE) != _mark(stored):
        raise HerderError(409, f"The configuration of {visit.connector} has changed since the form was opened. Open it again.")


def _mark(config: Mapping[str, str]) -> str:
    """A mark of the stored configuration, equal on all workers, by which the review and the save notice that it has changed.

    It says nothing about secrets, which could be guessed from it. One that changes meanwhile is not lost: a form refers to the stored one.
    """
    return hashlib.sha256(json.dumps(sorted(config_form.public(config).items())).encode()).hexdigest()


def _hidden_again(wanted: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """``wanted`` for the form of the review: a secret that is unchanged stays on the worker."""
    hidden = config_form.public(wanted)
    return {name: hidden[name] if value == stored.get(name) else value for name, value in wanted.items()}
