"""money (PostgreSQL manual, 8.2): an amount in the server's locale, brought to ``money.fraction.digits``.

The text holds a currency sign, group separators and a sign or brackets, all chosen by ``lc_monetary``. Digits are what
counts; the last separator is the decimal point when one or two digits follow it.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal

from connector.java_float import java_double
from connector.json_converter import quote_base64, twos_complement, unscaled
from connector.schema import DECIMAL, FLOAT64, STRING, Schema
from connector.types.codec import Codec

_AMOUNT = re.compile(rb"\d[\d.,' \xa0\xe2\x80\xaf\xc2]*")

_WIDE = Context(prec=60)
"""Enough for the nineteen digits of a money value and any number of fraction digits one may ask for."""


def money(mode: str, digits: int, decimal_format: str, *, by_driver: bool = False) -> Codec:
    """A money column in the ``decimal.handling.mode`` ``mode``; amounts are rounded half up to ``digits`` when precise.

    ``by_driver`` reads them as Debezium 2.3.4 does in its snapshots: as floating-point numbers, which hold 16 digits or so.
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
    """The amount as printed, e.g. -1234.56 of ``-$1,234.56``. Raises ValueError when there is no digit."""
    found = _AMOUNT.search(text)
    if found is None:
        raise ValueError("Money value holds no digits")
    number = found.group().rstrip(b"., '\xa0\xe2\x80\xaf\xc2")
    at = max(number.rfind(b"."), number.rfind(b","))
    fraction = number[at + 1 :] if at >= 0 and len(number) - at <= 3 else b""
    whole = bytes(c for c in (number[:at] if fraction else number) if 48 <= c <= 57)
    value = Decimal((whole + (b"." + fraction if fraction else b"")).decode())
    return -value if b"-" in text or b"(" in text else value
