"""money (PostgreSQL manual, 8.2): an amount in the server's locale, rescaled to ``money.fraction.digits``.

The text holds a currency sign, group separators, and a sign or brackets; ``lc_monetary`` chooses all of them. Only the digits are read. The
last separator is the decimal point if one or two digits follow it.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal

from connector.java.floats import java_double
from connector.record.json_converter import quote_base64, twos_complement, unscaled
from connector.record.schema import DECIMAL, FLOAT64, STRING, Schema
from connector.types.codec import Codec

_AMOUNT = re.compile(rb"\d[\d.,' \xa0\xe2\x80\xaf\xc2]*")

_WIDE = Context(prec=60)
"""A precision that suffices for the nineteen digits of a money value and any configured number of fraction digits."""


def money(mode: str, digits: int, decimal_format: str, *, by_driver: bool = False) -> Codec:
    """Return the codec of a money column; ``mode`` is ``decimal.handling.mode``. Mode precise rounds half up to ``digits`` digits.

    ``by_driver`` reads amounts as Debezium 2.3.4 does in its snapshots: as floating-point numbers, which hold about 16 digits.
    """
    read = _amount_by_driver if by_driver else amount
    if mode == "string":

        def word(text: bytes) -> str:
            return java_double(float(amount(text))).decode() if by_driver else str(amount(text))

        return Codec(schema=STRING, encode=lambda text: b'"' + word(text).encode() + b'"', decode=word, fallback="0.00")
    if mode == "double":
        return Codec(
            schema=FLOAT64,
            encode=lambda text: java_double(float(amount(text))),
            decode=lambda text: float(amount(text)),
            fallback=0.0,
        )
    quantum = Decimal((0, (1,), -digits))

    def decode(text: bytes) -> Decimal:
        rounded = read(text).quantize(quantum, ROUND_HALF_UP, _WIDE)
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


def _amount_by_driver(text: bytes) -> Decimal:
    return Decimal(repr(float(amount(text))))


def amount(text: bytes) -> Decimal:
    """Return the printed amount, for instance -1234.56 for ``-$1,234.56``. Raises ValueError if there is no digit."""
    found = _AMOUNT.search(text)
    if found is None:
        raise ValueError("Money value holds no digits")
    number = found.group().rstrip(b"., '\xa0\xe2\x80\xaf\xc2")
    at = max(number.rfind(b"."), number.rfind(b","))
    fraction = number[at + 1 :] if at >= 0 and len(number) - at <= 3 else b""
    whole = bytes(c for c in (number[:at] if fraction else number) if 48 <= c <= 57)
    value = Decimal((whole + (b"." + fraction if fraction else b"")).decode())
    return -value if b"-" in text or b"(" in text else value
