"""Masks: asterisks, salted hashes and truncation (Debezium properties ``column.mask.*``, ``column.truncate.*``).

As recorded from Debezium: asterisks replace NULL too; hashes and truncation do not change NULL. A hash is at most as long as the column. A
fallback for a NULL in a required column, and the placeholder, are masked like any other value. Defaults in schemas are not masked.
Asterisks and hashes apply to character types and enums only, truncation to all strings and bytea. The schema of a column that a rule names
has the rule's parameter even if the rule cannot change its values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from connector.config.packed import ColumnMask
from connector.emulation import DEFAULT, Emulation
from connector.record.json_converter import ConverterSettings, quote, value_encoder
from connector.record.schema import Schema
from connector.types.codec import Codec, TypeInfo

_CHARACTERS: Final = frozenset({"bpchar", "varchar", "text", "name", "char"})
_JAVA_STRING: Final = b"\xac\xed\x00\x05"
"""The beginning of a stream of Java's object serialization (specification, 6.4): magic number and version."""


@dataclass(frozen=True, slots=True)
class Mask:
    """The effect of one rule on one column.

    ``constant`` replaces every value. ``change`` converts a Connect value, which is never null, to the value to send. ``parameter`` is
    added to the column's schema. A rule that cannot change values of the column's type has only ``parameter``.
    """

    parameter: tuple[str, str] | None = None
    constant: str | None = None
    change: Callable[[object], object] | None = None

    @property
    def idle(self) -> bool:
        """Whether the mask changes no value."""
        return self.constant is None and self.change is None

    def shown(self, value: object) -> object:
        """Return the Connect value to send in place of ``value``, which is not null."""
        if self.constant is not None:
            return self.constant
        return value if self.change is None else self.change(value)

    def over(self, codec: Codec, settings: ConverterSettings) -> Codec:
        """Return a codec that encodes and decodes to masked values."""
        if self.idle:
            return codec
        shown, decode = self.shown, codec.decode
        if self.constant is not None:
            text = quote(self.constant)
            return Codec(codec.schema, lambda _text: text, lambda _text: self.constant, self.constant, self.constant, inline=repr(text))
        write = value_encoder(codec.schema.as_optional(), settings)

        def changed(text: bytes) -> object:
            value = decode(text)
            return None if value is None else shown(value)

        cell_value = codec.cell_value

        def changed_cell(cell: bytes | None) -> object:
            value = None if cell_value is None else cell_value(cell)
            return None if value is None else shown(value)

        return Codec(
            schema=codec.schema,
            encode=lambda text: write(changed(text)),
            decode=changed,
            fallback=None if codec.fallback is None else shown(codec.fallback),
            unavailable=None if codec.unavailable is None else shown(codec.unavailable),
            cell_value=None if cell_value is None else changed_cell,
        )


def mask_of(rule: ColumnMask, base: TypeInfo, length: int | None, schema: Schema, emulation: Emulation = DEFAULT) -> Mask:
    """Return the effect of ``rule`` on a column.

    ``base`` is the column's type below all domains, ``length`` its length as the JDBC driver reports it, ``schema`` the schema of its
    values.
    """
    if rule.kind == "truncate":
        if length is not None and length <= rule.length:
            return Mask()
        cut = None
        if schema.type == "string":
            cut = _cut_text(rule.length)
        elif (schema.type, schema.name) == ("bytes", None) and emulation.truncates_bytes:
            cut = _cut_bytes(rule.length)
        return Mask(("truncateLength", str(rule.length)), change=cut)
    masked = ("masked", "true")
    if not (base.kind == "e" or (base.schema == "pg_catalog" and base.name in _CHARACTERS)):
        return Mask(masked)
    if rule.kind == "mask":
        return Mask(masked, constant="*" * rule.length)
    serialize = _java_serialized if rule.kind == "hash" else str.encode
    salt, digest = rule.salt.encode(), rule.digest

    def hashed(value: object) -> object:
        return hashlib.new(digest, salt + serialize(str(value)), usedforsecurity=False).hexdigest()[:length]

    return Mask(masked, change=hashed)


def _cut_text(length: int) -> Callable[[object], object]:
    """Keep ``length`` UTF-16 units, as Java counts; a character of which only half would remain is removed."""

    def cut(value: object) -> object:
        text = str(value)
        if len(text) * 2 <= length or text.isascii():
            return text[:length]
        # No character is more than two units, so the rest of a long text needs no encoding. Only the cut itself makes a half character.
        units = text[:length].encode("utf-16-le", "surrogatepass")
        return units[: 2 * length].decode("utf-16-le", "ignore")

    return cut


def _cut_bytes(length: int) -> Callable[[object], object]:
    return lambda value: value[:length] if isinstance(value, bytes) else value


def _java_serialized(text: str) -> bytes:
    """Return a string as Java's ``ObjectOutputStream`` writes it (specification, TC_STRING): the first form of hashes uses this."""
    written = _modified_utf8(text)
    size = len(written)
    head = b"t" + size.to_bytes(2, "big") if size < 65_536 else b"|" + size.to_bytes(8, "big")
    return _JAVA_STRING + head + written


def _modified_utf8(text: str) -> bytes:
    """Encode each UTF-16 unit separately as UTF-8 (java.io.DataInput). PostgreSQL's texts have no U+0000, which would be two bytes."""
    if max(text, default="") <= "\uffff":
        return text.encode()
    units = text.encode("utf-16-be")
    halves = (chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))
    return "".join(halves).encode("utf-8", "surrogatepass")
