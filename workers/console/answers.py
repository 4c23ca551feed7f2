"""Answers of the console: pages from templates, redirects and files, each with the guard's headers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from connect_api.paths import encode
from connect_api.request_error import RequestError
from workers.console import guard
from workers.console.figures import HEIGHT, WIDTH, count, duration, size

if TYPE_CHECKING:
    import jinja2

STATIC: Final = {
    "htmx.min.js": "text/javascript",
    "console.js": "text/javascript",
    "console.css": "text/css",
    "icon.svg": "image/svg+xml",
}
_HERE: Final = Path(__file__).parent


@cache
def _templates() -> jinja2.Environment:
    # The import takes 50 ms, and a worker whose console nobody opens needs it never.
    import jinja2  # noqa: PLC0415

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {"size": size, "duration": duration, "count": count, "segment": encode}
    made.globals |= {"spark_width": WIDTH, "spark_height": HEIGHT}
    return made


def page(request: Request, template: str, status_code: int = 200, /, **values: Any) -> Response:
    """The page of ``template`` with ``values``; ``csrf`` is the token for its forms."""
    token = guard.token(request)
    html = _templates().get_template(template).render(csrf=token, **values)
    answer = Response(html, status_code=status_code, headers=guard.HEADERS, media_type="text/html")
    guard.keep_token(request, answer, token)
    return answer


def redirect(path: str) -> Response:
    """To another page, after an action."""
    return RedirectResponse(path, status_code=303, headers=guard.HEADERS)


def challenge() -> Response:
    """Ask the browser for a login. The REST interface itself sends no challenge, as Kafka Connect."""
    asking = {"WWW-Authenticate": 'Basic realm="Understudy", charset="UTF-8"'}
    return Response("This console needs a login.\n", status_code=401, headers={**guard.HEADERS, **asking}, media_type="text/plain")


def file(name: str) -> Response:
    """A file of the pages. Raises RequestError(404) for another name."""
    if name not in STATIC:
        raise RequestError(f"The console has no file {name}.", status=404)
    headers = {**guard.HEADERS, "Cache-Control": "max-age=300"}
    return FileResponse(_HERE / "static" / name, media_type=STATIC[name], headers=headers)
