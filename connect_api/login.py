"""HTTP Basic login, as Connect's ``BasicAuthSecurityRestExtension`` asks for it.

It is asked for last: a path, a method or a media type that is refused is refused without a login. The calls that workers make among
themselves need none, since they are signed.
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
    """The request names no user with the right password: answered with 401."""


class Login:
    """Knows the users with their passwords. Without any user every request is let in, as the reference does."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = {name: password.encode() for name, password in users.items()}

    def accepts(self, authorization: str | None) -> bool:
        """Whether the header ``Authorization`` names a user with the right password."""
        if not self._users:
            return True
        user, password = credentials(authorization)
        # Compared in a time that does not tell how much of it was right; an unknown user takes as long.
        right = hmac.compare_digest(password.encode(), self._users.get(user, b""))
        return right and bool(user) and user in self._users


def credentials(authorization: str | None) -> tuple[str, str]:
    """User and password of a header; of one that cannot be read the user is empty."""
    method, _, encoded = (authorization or "").strip().partition(" ")
    if method.lower() != "basic":
        return "", ""
    try:
        # The padding may be left out.
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return "", ""
    user, colon, password = text.partition(":")
    return (user, password) if colon and user else ("", "")


def required(login: Login) -> Callable[[Request], Awaitable[None]]:
    """The dependency of all routes: raises :class:`LoginError`."""

    async def check(request: Request) -> None:
        internal = _INTERNAL.get(request.method)
        if internal is not None and internal.fullmatch(request.scope["path"]):
            return
        if not login.accepts(request.headers.get("authorization")):
            raise LoginError

    return check


def refusal(media_type: str = "application/json") -> Response:
    """The answer to a :class:`LoginError`: a bare text whatever its media type says, and no challenge, as recorded."""
    return Response(REFUSAL, status_code=401, headers={"Content-Type": media_type})
