"""Java's numbers: texts that it reads as numbers, and what is left of a number in a narrower type (Java Language Specification, 5.1.3)."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final

from connector.java.floats import as_float32
from connector.java.trim import trim

_DECIMAL_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_ANY_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?0*\d{1,10})?")
_HEX_NUMBER: Final = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?\d+", re.ASCII)
_NAMED: Final = re.compile(r"([+-]?)(NaN|Infinity)")
_LAST_OF_ONE_UNIT: Final = "\uffff"
"""Java reads digits of all scripts, one UTF-16 unit at a time: a digit of two units is none for it."""
_LARGEST_EXPONENT: Final = 2**31


class NumberError(ValueError):
    """A text that Java does not read as a number of the wanted type (``NumberFormatException``)."""


def parse_integer(text: str, bits: int) -> int:
    """Read a signed integer of so many bits (``Long.parseLong``, ``Byte.parseByte`` and so on). Raises NumberError."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal() or max(digits) > _LAST_OF_ONE_UNIT:
        raise NumberError(f"Not an integer of {bits} bits")
    limit = 1 << bits - 1
    ascii_digits = digits if digits.isascii() else "".join(str(int(digit)) for digit in digits)
    # Python refuses to read thousands of digits, also where all but the last are zeros.
    digits = ascii_digits.lstrip("0") or "0"
    number = int(digits) if len(digits) <= 19 else limit + 1
    number = -number if text[0] == "-" else number
    if not -limit <= number < limit:
        raise NumberError(f"Out of the range of {bits} bits")
    return number


def parse_decimal(text: str) -> Decimal:
    """Read a number of any size (``new BigDecimal``). Raises NumberError."""
    if not _ANY_NUMBER.fullmatch(text) or max(text) > _LAST_OF_ONE_UNIT:
        raise NumberError("Not a decimal number")
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or not -_LARGEST_EXPONENT < exponent <= _LARGEST_EXPONENT:
        raise NumberError("The exponent is too large")
    # A BigDecimal has no zero with a sign.
    return number or number.copy_abs()


def parse_double(text: str) -> float:
    """Read a float64 (``Double.parseDouble``). Raises NumberError."""
    body = _body(text)
    named = _NAMED.fullmatch(body)
    if named:
        return math.nan if named[2] == "NaN" else -math.inf if named[1] == "-" else math.inf
    try:
        return float.fromhex(body) if _HEX_NUMBER.fullmatch(body) else float(body)
    except OverflowError:
        return -math.inf if body.startswith("-") else math.inf


def parse_float(text: str) -> float:
    """Read a float32 as the float64 of the same value (``Float.parseFloat``). Raises NumberError."""
    double = parse_double(text)
    body = _body(text)
    if not double or not math.isfinite(double) or not _DECIMAL_NUMBER.fullmatch(body):
        # Decimal does not read the exponents that a zero may have.
        return narrow_to_float(double)
    return nearest_float(Decimal(body), double)


def nearest_float(exact: Decimal, double: float) -> float:
    """Return the float32 nearest to ``exact``, whose nearest float64 is ``double``: rounding twice may miss it by one."""
    single = narrow_to_float(double)
    rest = double - single if math.isfinite(single) else 0.0
    if rest == 0.0 or exact == Decimal(double):
        return single
    # Only a float64 halfway between two float32 hides on which side of it the exact number lies.
    other = single + 2 * rest
    if narrow_to_float(other) != other:
        return single
    return min(single, other, key=lambda each: abs(exact - Decimal(each)))


def _body(text: str) -> str:
    """Return the text without blanks around it and without Java's suffix for the type."""
    body = trim(text)
    if body[-1:] in ("f", "F", "d", "D") and (_DECIMAL_NUMBER.fullmatch(body[:-1]) or _HEX_NUMBER.fullmatch(body[:-1])):
        body = body[:-1]
    if not (_DECIMAL_NUMBER.fullmatch(body) or _HEX_NUMBER.fullmatch(body) or _NAMED.fullmatch(body)):
        raise NumberError("Not a floating-point number")
    return body


def wrap(number: int, bits: int) -> int:
    """Return the lowest bits of an integer as a signed number, as casting a ``long`` to ``int`` does."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> bits - 1 else number


def wrap_decimal(number: Decimal, bits: int) -> int:
    """Return the same of a decimal without its fraction (``BigDecimal.longValue`` and so on)."""
    exponent = number.as_tuple().exponent
    # The lowest 64 bits of a multiple of 10**64 are zeros; a fraction of very many digits is not worked out either.
    if not isinstance(exponent, int) or exponent >= 64 or number.adjusted() < 0:
        return 0
    return wrap(int(number), bits)


def narrow_to_integer(number: float, bits: int) -> int:
    """Return what casting a ``double`` gives: NaN is 0, too large is the largest; below 32 bits what is left of an ``int``."""
    if math.isnan(number):
        return 0
    wide = max(bits, 32)
    limit = 1 << wide - 1
    whole = limit if number >= limit else -limit if number <= -limit else int(number)
    return wrap(min(whole, limit - 1), bits)


def narrow_to_float(number: float) -> float:
    """Return the nearest float32, which is an infinity where ``number`` is too large for it."""
    try:
        return as_float32(number)
    except ValueError:
        return math.copysign(math.inf, number)
