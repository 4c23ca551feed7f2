"""Names of series and labels, formed as JMX exporter 1.0 forms them."""

from __future__ import annotations

import re
from typing import Final

_UNSAFE: Final = re.compile(r"[^a-zA-Z0-9:]+")
_UNSAFE_IN_LABEL: Final = re.compile(r"[^a-zA-Z0-9]+")
_RESERVED: Final = ("_total", "_created", "_bucket", "_info")


def safe_name(text: str) -> str:
    """Return ``text`` with one underscore for each run of characters that a name cannot have, and one before a leading digit."""
    return ("_" if text[:1].isdecimal() else "") + _UNSAFE.sub("_", text)


def safe_label(text: str) -> str:
    """Return ``text`` as the name of a label, which can have no colon."""
    return ("_" if text[:1].isdecimal() else "") + _UNSAFE_IN_LABEL.sub("_", text)


def family_name(name: str) -> str:
    """Return the name without the suffixes that Prometheus reserves for the series of a family.

    The exporter's library removes them since version 1.0 and adds ``_total`` to the series of counters.
    """
    while True:
        suffix = next((suffix for suffix in _RESERVED if name.endswith(suffix)), None)
        if suffix is None:
            return name
        if name == suffix:
            return suffix[1:]
        name = name.removesuffix(suffix)


def snake_case(text: str) -> str:
    """Return ``text`` in lower case with an underscore before each capital letter that follows none (``attrNameSnakeCase``)."""
    out: list[str] = []
    former = "_"
    for sign in text:
        if sign.isupper() and not (former.isupper() or former == "_"):
            out.append("_")
        out.append(sign.lower())
        former = sign
    return "".join(out)
