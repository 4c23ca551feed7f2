"""Posts JSON to an address that a connector's configuration names."""

from __future__ import annotations

import asyncio
import socket
import ssl
from functools import cache
from ipaddress import ip_address
from urllib.parse import urlsplit


async def post(url: str, body: bytes, *, limit: float, private: bool) -> str | None:
    """Post ``body``; return why it was not accepted, or None. Redirects are not followed. ``limit`` is in seconds.

    Unless ``private``, nothing is sent to a host with an address of this machine or of a private network.
    """
    import httpx  # noqa: PLC0415 (50 ms that only who has an address need pay)

    try:
        async with asyncio.timeout(limit):
            if not private and (refusal := await _refusal(url)):
                return refusal
            async with httpx.AsyncClient(timeout=limit, trust_env=False, verify=_trusted()) as client:
                answer = await client.post(url, content=body, headers={"Content-Type": "application/json"})
    except TimeoutError:
        return f"no answer within {limit:g} s"
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as problem:
        return type(problem).__name__
    return None if answer.is_success else f"HTTP {answer.status_code}"


@cache
def _trusted() -> ssl.SSLContext:
    """Return the context with the certificates that httpx trusts. To load them takes 20 ms, in which no record is sent."""
    import httpx  # noqa: PLC0415 (as above)

    return httpx.create_ssl_context(trust_env=False)


async def _refusal(url: str) -> str | None:
    parts = urlsplit(url)
    found = await asyncio.get_running_loop().getaddrinfo(parts.hostname or "", parts.port or 80, type=socket.SOCK_STREAM)
    hosts = [str(address[0]).partition("%")[0] for *_, address in found]
    hidden = [host for host in hosts if not ip_address(host).is_global]
    return f"the host has the non-public address {hidden[0]}; see notification.http.allow.private.networks" if hidden else None
