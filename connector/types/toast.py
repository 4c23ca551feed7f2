"""The placeholder for an unchanged TOAST value (``unavailable.value.placeholder``), as text, as bytes, and as an array.

PostgreSQL stores large values in a TOAST table. An UPDATE that does not change such a value does not send it, unless the replica identity
sends the whole old row. The event then shows the placeholder.
:attr:`connector.types.codec.Codec.unavailable` is a column's placeholder, :data:`connector.wire.pgoutput.UNCHANGED` marks the missing
value in a message, and :mod:`connector.events.encoders` writes the placeholder in its place.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass

from connector.types.codec import Codec, TypeInfo, TypeSettings


@dataclass(frozen=True, slots=True)
class Placeholder:
    """The configured placeholder as text and as bytes."""

    text: str
    raw: bytes


def placeholder_of(settings: TypeSettings) -> Placeholder:
    """Return the placeholder that ``settings`` name; ``hex:`` starts one that is given as bytes."""
    configured = settings.unavailable_value_placeholder
    raw = bytes.fromhex(configured[4:]) if configured.startswith("hex:") else configured.encode()
    return Placeholder(raw.decode(errors="replace"), raw)


def array_placeholder(info: TypeInfo, element: Codec, placeholder: Placeholder) -> list[object] | None:
    """Return what Debezium sends for an unchanged TOAST array of elements of type ``info``; None if it has no placeholder for them."""
    if info.kind != "b":
        return None
    if info.name in {"text", "varchar", "bpchar", "json", "jsonb"}:
        return [placeholder.text]
    if info.name in {"int4", "int8"} or (info.name == "date" and element.schema.name == "io.debezium.time.Date"):
        return [byte - 256 if byte > 127 else byte for byte in placeholder.raw]
    if info.name == "uuid":
        # UUID.nameUUIDFromBytes: an MD5 with the version and variant bits of a name-based uuid.
        return [str(uuid.UUID(bytes=hashlib.md5(placeholder.raw, usedforsecurity=False).digest(), version=3))]
    if info.name == "bytea" and element.schema.type == "bytes":
        return [placeholder.raw]
    return None
