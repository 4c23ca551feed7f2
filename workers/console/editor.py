"""The editor of configurations: a form, checks while it is filled in, a review of the difference, and the save."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from connect_api.herder import HerderError
from connect_api.paths import encode
from connector.config.keys import BY_NAME, CONNECTOR_CLASS
from workers.console import answers, config_form
from workers.console.visit import Visit
from workers.console.watched import WatchedWorker

_PLUGIN: Final = "PostgresConnector"
_CHOICES: Final = {name: key.choices for name, key in BY_NAME.items() if key.choices}


class Editor:
    """Nothing is stored before the review is confirmed."""

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
        stored = self._stored(visit.form["connector"]) if visit.form.get("connector") else {}
        try:
            found = await self._results(visit, config_form.submitted(visit.form, stored))
        except HerderError as problem:
            return visit.page("findings.html", results=[], problem=problem.message)
        return visit.page("findings.html", results=found, problem="")

    async def review(self, visit: Visit) -> Response:
        """Show the difference and the results of the checks, before anything is stored."""
        name = visit.connector
        stored = self._stored(name) if name else {}
        wanted = config_form.submitted(visit.form, stored)
        results = await self._results(visit, wanted)
        return visit.page(
            "review.html",
            title=f"Review {name or wanted.get('name', 'the new connector')}",
            name=name,
            changes=config_form.changes(stored, wanted),
            results=results,
            wrong=any(each["errors"] for each in results),
            wanted=json.dumps(_hidden_again(wanted, stored), ensure_ascii=False),
            base=_mark(stored),
        )

    async def save(self, visit: Visit) -> Response:
        """Store the reviewed configuration of a connector."""
        stored = self._stored(visit.connector)
        if visit.form.get("base") != _mark(stored):
            raise HerderError(409, f"The configuration of {visit.connector} has changed since the form was opened. Open it again.")
        wanted = config_form.submitted(visit.form, stored)
        await visit.rest.of_connector("PUT", visit.connector, "/config", wanted)
        return answers.redirect(f"/ui/connectors/{encode(visit.connector)}")

    async def create(self, visit: Visit) -> Response:
        """Create the reviewed connector."""
        wanted = config_form.submitted(visit.form, {})
        await visit.rest.call("POST", "/connectors", {"name": wanted.get("name", ""), "config": wanted})
        return answers.redirect(f"/ui/connectors/{encode(wanted['name'])}")

    def _stored(self, name: str) -> Mapping[str, str]:
        return self._worker.connector_info(name).config

    def _form(self, visit: Visit, config: Mapping[str, str], raw: bool) -> Response:
        name = visit.connector
        keys = self._worker.plugin_config(_PLUGIN, None)
        shown = config or {"connector.class": CONNECTOR_CLASS, "name": ""}
        return visit.page(
            "editor.html",
            title=f"Configuration of {name}" if name else "New connector",
            name=name,
            groups=[] if raw else config_form.groups(keys, config, _CHOICES),
            others="" if raw else config_form.others(keys, config),
            raw=config_form.raw(shown) if raw else "",
            connector_class=CONNECTOR_CLASS,
        )

    async def _results(self, visit: Visit, config: Mapping[str, str]) -> list[dict[str, Any]]:
        found = await visit.rest.call("PUT", f"/connector-plugins/{_PLUGIN}/config/validate?warnings=true", config)
        return [each["value"] for each in found["configs"] if each["value"]["errors"] or each["value"].get("warnings")]


def _mark(config: Mapping[str, str]) -> str:
    """A mark of the stored configuration, by which the save notices that it has changed."""
    return hashlib.sha256(json.dumps(sorted(config.items())).encode()).hexdigest()


def _hidden_again(wanted: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """``wanted`` for the form of the review: a secret that is unchanged stays on the worker."""
    hidden = config_form.public(wanted)
    return {name: hidden[name] if value == stored.get(name) else value for name, value in wanted.items()}
