"""The address of a worker's REST interface and its login, as commands get them."""

from __future__ import annotations

import re
from netrc import NetrcParseError
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx

_BEFORE_HOST: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)?.*@", re.DOTALL)
"""Up to the last ``@``, because a password in an address that cannot be parsed may contain a slash."""


class AddressError(ValueError):
    """The address or the file with the login cannot be used. The text contains no part of the login."""


def shown_url(url: str) -> str:
    """Return ``url`` without the name and the password that it may hold, also if it is no valid address."""
    return _BEFORE_HOST.sub(r"\1", url)


def check_url(url: str) -> None:
    """Raise AddressError if ``url`` is no http or https address."""
    try:
        parts = urlsplit(url)
        # The attribute raises ValueError for a port that is no number.
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        usable = False
    if not usable:
        raise AddressError(f"{shown_url(url)} is no http or https address")


def netrc_login(file: Path) -> httpx.NetRCAuth:
    """Return the logins of a netrc file. Raises AddressError naming the file and the line, because the parser's text quotes the file."""
    import httpx  # noqa: PLC0415 (the import takes 60 ms)

    try:
        return httpx.NetRCAuth(str(file))
    except NetrcParseError as problem:
        raise AddressError(f"the netrc file {file} has an error in line {problem.lineno}") from None
    except UnicodeDecodeError:
        raise AddressError(f"the netrc file {file} is not UTF-8") from None
    except OSError as problem:
        raise AddressError(f"the netrc file {file} cannot be read ({problem.strerror})") from None
