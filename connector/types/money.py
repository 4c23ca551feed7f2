"""money (PostgreSQL manual, 8.2): an amount in the server's locale, rescaled to ``money.fraction.digits``.

The text holds a currency sign, group separators, a decimal point, and a sign or brackets; ``lc_monetary`` chooses all of them, and how many
fraction digits an amount has. No separator tells which of them it is: ``1.234`` is a thousand in one locale and a little more than one in
another. Only the digits are read, and their number after the point must be known (:attr:`connector.types.codec.TypeInfo.fraction_digits`).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

from connector.java.floats import java_double
from connector.record.json_converter import quote_base64, twos_complement, unscaled
from connector.record.schema import DECIMAL, FLOAT64, STRING, Schema
from connector.types.codec import Codec

_OTHERS: Final = bytes(byte for byte in range(256) if not 48 <= byte <= 57)
"""All bytes but digits."""
_WIDE: Final = Context(prec=60)
"""A precision that suffices for the nineteen digits of a money value and any configured number of fraction digits."""


def money(mode: str, digits: int, decimal_format: str, *, printed: int = 2, by_driver: bool = False) -> Codec:
    """Return the codec of a money column; ``mode`` is ``decimal.handling.mode``. Mode precise rounds half up to ``digits`` digits.

    ``printed`` is the number of fraction digits in the server's texts. ``by_driver`` reads amounts as Debezium 2.3.4 does in its snapshots:
    as floating-point numbers, which hold about 16 digits.
    """
    read: Callable[[bytes, int], Decimal] = _amount_by_driver if by_driver else amount
    if mode == "string":

        def word(text: bytes) -> str:
            value = amount(text, printed)
            return java_double(float(value)).decode() if by_driver else str(value)

        return Codec(schema=STRING, encode=lambda text: b'"' + word(text).encode() + b'"', decode=word, fallback="0.00")
    if mode == "double":
        return Codec(
            schema=FLOAT64,
            encode=lambda text: java_double(float(amount(text, printed))),
            decode=lambda text: float(amount(text, printed)),
            fallback=0.0,
        )
    quantum = Decimal((0, (1,), -digits))

    def decode(text: bytes) -> Decimal:
        rounded = read(text, printed).quantize(quantum, ROUND_HALF_UP, _WIDE)
        return rounded or rounded.copy_abs()

    def encode(text: bytes) -> bytes:
        value = decode(text)
        return str(value).encode() if decimal_format == "NUMERIC" else quote_base64(twos_complement(unscaled(value, digits)))

    return Codec(
        schema=Schema("bytes", name=DECIMAL, version=1, parameters=(("scale", str(digits)),)),
        encode=encode,
        decode=decode,
        fallback=Decimal((0, (0,), -digits)),
    )


def _amount_by_driver(text: bytes, printed: int) -> Decimal:
    return Decimal(repr(float(amount(text, printed))))


def amount(text: bytes, printed: int = 2) -> Decimal:
    """Return the printed amount, for instance -1234.56 for ``-$1,234.56``; its last ``printed`` digits are the fraction.

    Raises ValueError if there is no digit.
    """
    digits = text.translate(None, _OTHERS)
    if not digits:
        raise ValueError("Money value holds no digits")
    value = Decimal(f"{digits.decode()}e-{printed}")
    return -value if b"-" in text or b"(" in text else value
