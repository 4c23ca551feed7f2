"""What protects the console in a browser: the headers of its answers, and the check that an action comes from its own page.

A browser sends a login by itself, also with the requests of other sites' pages. An action therefore needs an ``Origin`` of this host, and
the token of the page's form, which must equal a cookie that other sites can neither read nor send.
"""

from __future__ import annotations

import hmac
import re
import secrets
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

COOKIE: Final = "understudy_csrf"
FIELD: Final = "csrf"
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no-referrer browsers would send "Origin: null" with a form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")


def token(request: Request) -> str:
    """The token of the request's cookie; a new one if it has none that is well formed."""
    given = request.cookies.get(COOKIE, "")
    return given if _TOKEN.fullmatch(given) else secrets.token_urlsafe(32)


def keep_token(request: Request, answer: Response, value: str) -> None:
    """Set the cookie unless the browser has it."""
    if request.cookies.get(COOKIE) != value:
        answer.set_cookie(COOKIE, value, path="/ui", httponly=True, samesite="strict", secure=request.url.scheme == "https")


def refusal(request: Request, given: str) -> str | None:
    """Why an action must be refused, in one sentence; None if it comes from the console's own page. ``given`` is the form's token."""
    if not _comes_from_here(request):
        return "The request does not come from a page of this console. Open the console by this worker's own address and try again."
    known = request.cookies.get(COOKIE, "")
    if not _TOKEN.fullmatch(known) or not hmac.compare_digest(known.encode(), given.encode()):
        return "The page is too old, or the browser refuses the console's cookie. Load the page and try again."
    return None


def _comes_from_here(request: Request) -> bool:
    origin = request.headers.get("origin", "")
    try:
        return bool(origin) and urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
    except ValueError:
        return False
