"""Connectors: list, create, read, reconfigure, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from fastapi import FastAPI, Request, Response

from connect_api import bodies, models
from connect_api.documentation import CONFIG, INFO, STATUS, answers, extra, fails, query
from connect_api.herder import Herder, HerderError
from connect_api.paths import encode
from connect_api.schemas import TEXT, array

INFO_AND_STATUS = ("info", "status")
"""The values of ``expand``, in the order of the reply. The order in the query has no effect."""

Created = Callable[[Request, str], str]
"""``created(request, name)``: the ``Location`` of a new connector."""

LISTED: Final = {"oneOf": [array(TEXT), models.EXPANDED]}


def add_routes(app: FastAPI, herder: Herder, *, advertised_url: str | None) -> None:
    """Add the routes of connectors. ``advertised_url`` is the beginning of ``Location``; None: the URL of the request is."""

    def created(request: Request, name: str) -> str:
        base = advertised_url or f"{request.url.scheme}://{request.url.netloc}"
        return f"{base.rstrip('/')}/connectors/{encode(name)}"

    _add_connectors(app, herder, created)
    _add_configurations(app, herder, created)
    _add_states(app, herder)


def _add_connectors(app: FastAPI, herder: Herder, created: Created) -> None:
    kept: dict[tuple[str, ...], tuple[object, bytes]] = {}

    def listing(wanted: list[str]) -> Response:
        # Consoles request this list every few seconds. Building it costs 2 ms for 200 connectors, so it is kept until a connector changes.
        parts = tuple(part for part in INFO_AND_STATUS if part in wanted)
        revision = herder.revision()
        if parts not in kept or kept[parts][0] != revision:
            kept[parts] = revision, bytes(models.reply(expanded(herder, parts)).body)
        return Response(kept[parts][1], media_type="application/json")

    expand = query("expand", "info, status or both: details of each connector", boolean=False, repeated=True)

    @app.get("/connectors", tags=["connectors"], responses=answers(LISTED, ["shop"]), openapi_extra=extra(expand))
    async def names(request: Request) -> Response:
        """List the names of all connectors, or with ``expand`` an object with details of each (KIP-465)."""
        wanted = request.query_params.getlist("expand")
        return listing(wanted) if wanted else models.reply(herder.connectors())

    @app.post(
        "/connectors",
        status_code=201,
        tags=["connectors"],
        responses=answers(models.CONNECTOR_INFO, INFO, 400, 409, status=201, description="Created"),
        openapi_extra=extra(body=bodies.CREATE_BODY, example={"name": "shop", "config": CONFIG, "initial_state": "RUNNING"}),
    )
    async def create(request: Request) -> Response:
        """Create a connector. ``initial_state`` is RUNNING, PAUSED or STOPPED (KIP-980)."""
        wanted = bodies.new_connector(await bodies.read(request))
        _, info = await herder.put_connector(wanted.name, wanted.config, allow_replace=False, initial_state=wanted.initial_state)
        return models.reply(models.connector_info(info), 201, location=created(request, info.name))

    @app.get("/connectors/{connector:segment}", tags=["connectors"], responses=answers(models.CONNECTOR_INFO, INFO, 404))
    async def read(connector: str) -> Response:
        """Show the configuration and the tasks of a connector."""
        return models.reply(models.connector_info(herder.connector_info(connector)))

    @app.delete("/connectors/{connector:segment}", status_code=204, tags=["connectors"], responses=fails(404, 409))
    async def delete(connector: str) -> Response:
        """Stop a connector and forget its configuration. Its offsets stay."""
        await herder.delete_connector(connector)
        return models.empty(204)


def _add_configurations(app: FastAPI, herder: Herder, created: Created) -> None:
    @app.get("/connectors/{connector:segment}/config", tags=["connectors"], responses=answers(models.CONFIG, INFO["config"], 404))
    async def read_config(connector: str) -> Response:
        """Show the configuration as it was sent, with ``name``. Nothing else is added, nothing is hidden, ``${...}`` is not resolved."""
        return models.reply(herder.connector_info(connector).config)

    @app.put(
        "/connectors/{connector:segment}/config",
        tags=["connectors"],
        responses={
            **answers(models.CONNECTOR_INFO, INFO, 400, 409),
            **answers(models.CONNECTOR_INFO, INFO, status=201, description="The connector did not exist and was created"),
        },
        openapi_extra=extra(body=bodies.CONFIG_BODY, example=CONFIG),
    )
    async def write_config(request: Request, connector: str) -> Response:
        """Replace a connector's configuration, or create the connector."""
        config = bodies.connector_config(connector, await bodies.read(request))
        is_new, info = await herder.put_connector(connector, config, allow_replace=True)
        if is_new:
            return models.reply(models.connector_info(info), 201, location=created(request, info.name))
        return models.reply(models.connector_info(info))

    @app.patch(
        "/connectors/{connector:segment}/config",
        tags=["connectors"],
        responses=answers(models.CONNECTOR_INFO, INFO, 400, 404),
        openapi_extra=extra(body=bodies.CONFIG_BODY, example={"table.include.list": "public.orders", "slot.name": None}),
    )
    async def change_config(request: Request, connector: str) -> Response:
        """Change some properties of a connector's configuration; null removes one (KIP-477)."""
        patch = bodies.texts(bodies.parse_object(await bodies.read(request)))
        return models.reply(models.connector_info(await herder.patch_connector(connector, patch)))


def _add_states(app: FastAPI, herder: Herder) -> None:
    @app.get("/connectors/{connector:segment}/status", tags=["connectors"], responses=answers(models.STATUS, STATUS, 404))
    async def status(connector: str) -> Response:
        """Show the state of a connector and its tasks."""
        return models.reply(models.status(herder.connector_status(connector)))

    @app.get(
        "/connectors/{connector:segment}/topics",
        tags=["connectors"],
        responses=answers(models.TOPICS, {"shop": {"topics": ["shop.public.orders"]}}, 403),
    )
    async def topics(connector: str) -> Response:
        """List the topics the connector has written to (KIP-558). A connector that does not exist has none."""
        return models.reply(models.topics(connector, herder.active_topics(connector)))

    @app.put("/connectors/{connector:segment}/topics/reset", status_code=202, tags=["connectors"], responses=fails(403))
    async def reset_topics(connector: str) -> Response:
        """Forget the topics the connector has written to. A topic is listed again when the connector writes to it again."""
        herder.reset_active_topics(connector)
        return models.empty(202)


def expanded(herder: Herder, parts: Sequence[str]) -> dict[str, dict[str, object]]:
    """Each connector's info, status or both. A connector that is deleted meanwhile is left out."""
    sources: dict[str, Callable[[str], dict[str, object]]] = {
        "info": lambda name: models.connector_info(herder.connector_info(name)),
        "status": lambda name: models.status(herder.connector_status(name)),
    }
    listed: dict[str, dict[str, object]] = {}
    for name in herder.connectors():
        try:
            listed[name] = {part: sources[part](name) for part in parts}
        except HerderError as refusal:
            if refusal.status != 404:
                raise
    return listed
