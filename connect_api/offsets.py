"""Offsets of a connector (KIP-875)."""

from __future__ import annotations

from fastapi import FastAPI, Response

from connect_api import models
from connect_api.documentation import example
from connect_api.herder import Herder


def add_routes(app: FastAPI, herder: Herder) -> None:
    """Add the routes of offsets."""
    stored = {"partition": {"server": "shop"}, "offset": {"lsn": 22176496, "txId": 726, "ts_usec": 1795242511502549}}

    @app.get("/connectors/{connector:segment}/offsets", tags=["offsets"], responses=example({"offsets": [stored]}, 404))
    async def read(connector: str) -> Response:
        """Show the offsets stored in Kafka."""
        return models.reply(models.offsets(await herder.offsets(connector)))
