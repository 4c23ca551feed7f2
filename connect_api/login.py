"""HTTP Basic login, as in Kafka Connect's ``BasicAuthSecurityRestExtension``.

It is checked last: a wrong path, method or media type is refused without a login. The calls between workers need no login, because they
are signed.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from fastapi import Request, Response

REFUSAL: Final = "User cannot access the resource."

_INTERNAL: Final = {"POST": re.compile(r"/connectors/[^/]+/tasks"), "PUT": re.compile(r"/connectors/[^/]+/fence")}


class LoginError(Exception):
    """The request has no user with the right password. It is answered with 401."""


class Login:
    """The users and their passwords. As in Kafka Connect every request is accepted when there are no users."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = {name: password.encode() for name, password in users.items()}

    def accepts(self, authorization: str | None) -> bool:
        """Whether the header ``Authorization`` names a user with the right password."""
        if not self._users:
            return True
        user, password = credentials(authorization)
        # The time of the comparison does not depend on how much of the password is right, nor on whether the user exists.
        right = hmac.compare_digest(password.encode(), self._users.get(user, b""))
        return right and bool(user) and user in self._users


def credentials(authorization: str | None) -> tuple[str, str]:
    """User and password of a header; both empty for a malformed one."""
    method, _, encoded = (authorization or "").strip().partition(" ")
    if method.lower() != "basic":
        return "", ""
    try:
        # Clients may omit the padding.
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return "", ""
    user, colon, password = text.partition(":")
    return (user, password) if colon and user else ("", "")


def required(login: Login, check_site: Callable[[Request], None]) -> Callable[[Request], Awaitable[None]]:
    """A dependency for all routes. It raises :class:`LoginError`, and what ``check_site`` raises for a request with the login."""

    async def check(request: Request) -> None:
        internal = _INTERNAL.get(request.method)
        if internal is not None and internal.fullmatch(request.scope["path"]):
            return
        if not login.accepts(request.headers.get("authorization")):
            raise LoginError
        check_site(request)

    return check


def refusal(media_type: str = "application/json") -> Response:
    """The answer to a :class:`LoginError`: as Kafka Connect sends it, plain text whatever the media type, without a challenge."""
    return Response(REFUSAL, status_code=401, headers={"Content-Type": media_type})
