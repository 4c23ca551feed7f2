"""Values that are hidden: asterisks, salted hashes and cut texts (Debezium properties ``column.mask.*``, ``column.truncate.*``).

As recorded: asterisks stand for NULL too, hashes and cuts leave NULL alone; a hash has at most the column's length; a value that
stands in for a NULL in a required column, or for one that was not sent, is changed like any other. Defaults in schemas stay.
Asterisks and hashes change texts of character types and enums only, a cut every string and bytea; the schema of every named
column tells of the rule all the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from connector.config_families import ColumnMask
from connector.json_converter import quote, value_encoder
from connector.ports import ConverterSettings
from connector.schema import Schema
from connector.types.codec import Codec, TypeInfo

_CHARACTERS: Final = frozenset({"bpchar", "varchar", "text", "name", "char"})
_JAVA_STRING: Final = b"\xac\xed\x00\x05"
"""How a stream of Java's object serialization begins (specification, 6.4): magic number and version."""


@dataclass(frozen=True, slots=True)
class Mask:
    """What one rule does to one column.

    ``constant`` is shown in place of every value. ``change`` makes the Connect value to show of another, never of null.
    ``parameter`` goes into the column's schema. A rule that cannot change the column's type has only this.
    """

    parameter: tuple[str, str] | None = None
    constant: str | None = None
    change: Callable[[object], object] | None = None

    @property
    def idle(self) -> bool:
        """Values stay as they are."""
        return self.constant is None and self.change is None

    def shown(self, value: object) -> object:
        """The Connect value in place of ``value``, which is not null."""
        if self.constant is not None:
            return self.constant
        return value if self.change is None else self.change(value)

    def over(self, codec: Codec, settings: ConverterSettings) -> Codec:
        """The codec whose values are those shown."""
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


def mask_of(rule: ColumnMask, base: TypeInfo, length: int | None, schema: Schema, version: tuple[int, int, int] = (3, 6, 3)) -> Mask:
    """What ``rule`` does to a column of the type ``base`` (below all domains), the driver's ``length`` and the value's ``schema``.

    Up to ``version`` 2 bytes were not cut.
    """
    if rule.kind == "truncate":
        if length is not None and length <= rule.length:
            return Mask()
        cut = None
        if schema.type == "string":
            cut = _cut_text(rule.length)
        elif (schema.type, schema.name) == ("bytes", None) and version >= (3, 0, 0):
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
    """Keep ``length`` UTF-16 units, as Java counts; a character that would be cut in half goes whole."""

    def cut(value: object) -> object:
        text = str(value)
        if len(text) <= length and text.isascii():
            return text
        kept = text[:length]
        while len(kept) + sum(char > "\uffff" for char in kept) > length:
            kept = kept[:-1]
        return kept

    return cut


def _cut_bytes(length: int) -> Callable[[object], object]:
    return lambda value: value[:length] if isinstance(value, bytes) else value


def _java_serialized(text: str) -> bytes:
    """A string as Java's ``ObjectOutputStream`` writes it: the first form of hashes digests this (specification, TC_STRING)."""
    written = _modified_utf8(text)
    size = len(written)
    head = b"t" + size.to_bytes(2, "big") if size < 65_536 else b"|" + size.to_bytes(8, "big")
    return _JAVA_STRING + head + written


def _modified_utf8(text: str) -> bytes:
    """UTF-8 of each UTF-16 unit on its own (java.io.DataInput). PostgreSQL has no U+0000, which would be two bytes."""
    if max(text, default="") <= "\uffff":
        return text.encode()
    units = text.encode("utf-16-be")
    halves = (chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))
    return "".join(halves).encode("utf-8", "surrogatepass")
