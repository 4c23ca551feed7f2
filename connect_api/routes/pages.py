"""The page of the interface: Swagger UI. Its scripts come from this worker, so the browser calls no other host.

The page needs no login and no Kafka. Its Content-Security-Policy forbids other hosts even if a later script names one.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException

PATH: Final = "/docs"
FILES: Final = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}
"""Files of the page and their media types."""
_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
)


def add_routes(app: FastAPI) -> None:
    """Add the page and its files."""
    places = {name: f"{PATH}/{name}" for name in FILES}
    html = get_swagger_ui_html(
        openapi_url=app.openapi_url or "",
        title=app.title,
        swagger_js_url=places["swagger-ui-bundle.js"],
        swagger_css_url=places["swagger-ui.css"],
        swagger_favicon_url=places["favicon-32x32.png"],
        # By default the page requests a badge from another host.
        swagger_ui_parameters={"validatorUrl": None},
    )
    html.headers["Content-Security-Policy"] = _POLICY

    async def page(_request: Request) -> Response:
        return html

    async def file(request: Request) -> Response:
        name = request.path_params["file"]
        if name not in FILES:
            raise HTTPException(404)
        return FileResponse(_folder() / name, media_type=FILES[name], headers={"Cache-Control": "max-age=3600"})

    app.add_route(PATH, page, include_in_schema=False)
    app.add_route(f"{PATH}/{{file}}", file, include_in_schema=False)


def _folder() -> Path:
    """The folder of the package's files. The package is not imported, because that would add its own routes."""
    spec = find_spec("fastapi_swagger")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("The package fastapi-swagger is not installed.")
    return Path(spec.origin).parent / "resources"
