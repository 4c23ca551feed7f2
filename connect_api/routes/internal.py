"""The calls between workers of Kafka Connect (KIP-507). They are always refused.

A worker of Kafka Connect signs them with a key that its group shares through the config topic. The workers here do not need these calls:
all read the same topics, and :mod:`connect_api.forwarding` forwards clients' calls. So they have no such key and accept no signature.
Every call is refused with Kafka Connect's message for its signature. The body is never read.
"""

from __future__ import annotations

import base64
from typing import Annotated, Final

from fastapi import FastAPI, Path, Request, Response

from connect_api import bodies
from connect_api.documentation import extra, fails
from connect_api.herder import HerderError
from connect_api.media import UntypedRoute
from connect_api.schemas import array, or_null

ALGORITHM: Final = "HmacSHA256"
"""The default of ``inter.worker.signature.algorithm``."""
TASKS_BODY: Final = {"anyOf": [{"type": "null"}, array(or_null(bodies.CONFIG_BODY))]}
SIGNATURE: Final = "x-connect-authorization"
SIGNED_WITH: Final = "x-connect-request-signature-algorithm"

Connector = Annotated[str, Path(alias="connector")]


def add_routes(app: FastAPI) -> None:
    """Add the routes between workers."""

    async def write_tasks(request: Request, _connector: Connector) -> Response:
        """Store task configurations for another worker of the group. Always refused."""
        raise refusal(request)

    async def fence(request: Request, _connector: Connector) -> Response:
        """Fence a connector's former producers for another worker of the group. Always refused."""
        raise refusal(request)

    for path, method, answer, body in (("tasks", "POST", write_tasks, TASKS_BODY), ("fence", "PUT", fence, None)):
        app.router.add_api_route(
            f"/connectors/{{connector:segment}}/{path}",
            answer,
            methods=[method],
            tags=["internal"],
            status_code=204,
            responses=fails(400, 403),
            openapi_extra=extra(body=body, example=[{"task.class": "…"}]),
            route_class_override=UntypedRoute,
        )


def refusal(request: Request) -> HerderError:
    """The refusal that fits the request's signature. No signature is valid."""
    signature, algorithm = request.headers.get(SIGNATURE), request.headers.get(SIGNED_WITH)
    if signature is None or algorithm is None:
        return HerderError(400, "Internal request missing required signature")
    try:
        base64.b64decode(signature, validate=True)
    except ValueError:
        # binascii.Error is a ValueError; a plain ValueError means characters outside of ASCII.
        return HerderError(400, f"The header {SIGNATURE} is not Base64. Only workers of one group make this call.")
    if algorithm != ALGORITHM:
        return HerderError(
            400,
            f"This worker does not support the '{algorithm}' key signing algorithm used by other workers. This worker is currently "
            f"configured to use: [{ALGORITHM}]. Check that all workers' configuration files permit the same set of signature "
            "algorithms, and correct any misconfigured worker and restart it.",
        )
    return HerderError(403, "Internal request contained invalid signature.")
