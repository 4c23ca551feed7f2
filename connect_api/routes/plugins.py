"""The worker's plugins, their properties, and the validation of a configuration."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Request, Response

from connect_api import bodies, models
from connect_api.documentation import CONFIG, CONNECTOR_CLASS, answers, extra, query
from connect_api.herder import Herder
from connect_api.queries import flag
from connect_api.schemas import array

_DEFINITION: Final = {
    "name": "topic.prefix",
    "type": "STRING",
    "required": False,
    "default_value": None,
    "importance": "HIGH",
    "documentation": "…",
    "group": "Postgres",
    "order_in_group": 1,
    "width": "MEDIUM",
    "display_name": "Topic prefix",
    "dependents": [],
}
_MISSING: Final = "The 'topic.prefix' value is invalid: A value is required"
_VALUE: Final = {"name": "topic.prefix", "value": None, "recommended_values": [], "errors": [_MISSING], "visible": True}
_CHECKED: Final = {
    "name": CONNECTOR_CLASS,
    "error_count": 1,
    "groups": ["Common", "Postgres"],
    "configs": [{"definition": _DEFINITION, "value": _VALUE}],
}


def add_routes(app: FastAPI, herder: Herder) -> None:
    """Add the routes of plugins."""
    known = {"class": CONNECTOR_CLASS, "type": "source", "version": "3.6.3.Final"}
    only = query("connectorsOnly", "false lists transforms, converters and predicates too")
    version = query("version", "an exact version or a Maven range; the newest that fits counts", boolean=False)
    warnings = query("warnings", "true adds value.warnings to each property: problems that do not make it invalid (an extension)")

    @app.get("/connector-plugins", tags=["plugins"], responses=answers(array(models.PLUGIN), [known]), openapi_extra=extra(only))
    async def plugins(request: Request) -> Response:
        """List the connectors that can be created, or all plugins (KIP-769)."""
        connectors_only = flag(request, "connectorsOnly", default=True)
        return models.reply([models.plugin(value) for value in herder.plugins(connectors_only)])

    @app.get(
        "/connector-plugins/{plugin:segment}/config",
        tags=["plugins"],
        responses=answers(array(models.CONFIG_KEY), [_DEFINITION], 400, 404),
        openapi_extra=extra(version),
    )
    async def config(request: Request, plugin: str) -> Response:
        """List the properties of a plugin (KIP-769), in one of its versions (KIP-891)."""
        wanted = request.query_params.getlist("version")
        return models.reply([models.config_key(key) for key in herder.plugin_config(plugin, wanted[0] if wanted else None)])

    @app.put(
        "/connector-plugins/{plugin:segment}/config/validate",
        tags=["plugins"],
        responses=answers(models.CONFIG_INFOS, _CHECKED, 400, 500),
        openapi_extra=extra(warnings, body=bodies.CONFIG_BODY, example={**CONFIG, "name": "shop"}),
    )
    async def validate(request: Request, plugin: str) -> Response:
        """Check a configuration without storing it; 200 even if it has errors. The body is the configuration itself."""
        config = bodies.texts(bodies.parse_object(await bodies.read(request)))
        infos = await herder.validate_config(plugin, config)
        return models.reply(models.config_infos(infos, warnings=flag(request, "warnings", default=False)))
