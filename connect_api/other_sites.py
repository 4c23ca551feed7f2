"""Refuses changes that a page of another site causes with the login that the browser keeps.

A browser that has once logged in at the console adds the login to every request for this host, whatever page caused it. Other sites' pages
cannot read the answers, but some calls that change something need no body, and the browser sends those without asking first. What shows the
page is ``Sec-Fetch-Site``, which browsers send over https and to local addresses, and ``Origin``. Programs send neither.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from fastapi import Request

from connect_api.cross_origin import CrossOrigin
from connect_api.request_error import RequestError

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN: Final = ("same-origin", "none")


def check_site(request: Request, cross_origin: CrossOrigin | None) -> None:
    """Raise :class:`RequestError` (403) for a change that comes from a page of another site, unless ``cross_origin`` allows its origin."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if request.method in _SAFE or site in _OWN:
        return
    if origin is None:
        foreign = site == "cross-site"
    else:
        foreign = not _is_here(origin, request) and not (cross_origin is not None and cross_origin.allows(origin))
    if foreign:
        raise RequestError(
            "The request comes from a page of another site. If that page may change connectors, list its origin in the worker property "
            "access.control.allow.origin.",
            status=403,
        )


def _is_here(origin: str, request: Request) -> bool:
    # A proxy may send its own address as Host. The page of another site cannot set the header that keeps the former one.
    hosts = (request.headers.get("host"), request.headers.get("x-forwarded-host"))
    try:
        return urlsplit(origin).netloc.lower() in [host.strip().lower() for host in hosts if host]
    except ValueError:
        return False
