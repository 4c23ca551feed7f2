"""Groovy's arithmetic (Groovy language documentation, "Math operations" and "Number type promotion").

A Double or Float on either side makes a Double; else the larger of BigDecimal, BigInteger, Long and Integer. Integers and Longs wrap
around. Dividing whole numbers makes a BigDecimal.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, Inexact, InvalidOperation, Overflow, Underflow
from typing import Any, Final

from connector.java.floats import java_double, java_float
from connector.transforms.scripting.groovy.budget import MOST_BITS
from connector.transforms.scripting.groovy.values import BigInteger, Byte, Float, Long, Short, class_of
from connector.transforms.scripting.problem import EvaluationError

_EXACT: Final = Context(
    prec=MOST_BITS, Emin=-100_000, Emax=100_000, rounding=ROUND_HALF_UP, traps=[Inexact, InvalidOperation, Overflow, Underflow]
)
_EXTRA_PRECISION: Final = 10
_LEAST_SCALE: Final = 10
_SMALL: Final = frozenset((int, Short, Byte))
_WHOLE: Final[dict[str, Callable[[Any, Any], Any]]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def is_number(value: Any) -> bool:
    """Whether a value is a number for Java."""
    return isinstance(value, (int, float, Decimal)) and value is not True and value is not False


def arithmetic(sign: str, left: Any, right: Any) -> Any:
    """Return ``left sign right`` for two numbers. Raises EvaluationError."""
    if sign == "**":
        return _power(left, right)
    if isinstance(left, float) or isinstance(right, float):
        return _floating(sign, double_of(left), double_of(right))
    try:
        if sign == "/":
            return unsigned_zero(_divided(_decimal(left), _decimal(right)))
        if isinstance(left, Decimal) or isinstance(right, Decimal):
            return unsigned_zero(_decimals(sign, _decimal(left), _decimal(right)))
    except (InvalidOperation, Inexact, Overflow, Underflow):
        raise EvaluationError(f"A BigDecimal has more than {MOST_BITS} digits") from None
    if sign == "%":
        if not right:
            raise EvaluationError("Division by zero")
        if isinstance(left, BigInteger) or isinstance(right, BigInteger):
            # It is BigInteger.mod, whose result is never negative.
            if right < 0:
                raise EvaluationError("The modulus of a BigInteger is not positive")
            return sized(int(left) % int(right), left, right)
        found = abs(left) % abs(right)
        return sized(-found if left < 0 else found, left, right)
    return sized(_WHOLE[sign](int(left), int(right)), left, right)


def unsigned_zero(value: Decimal) -> Decimal:
    """Return the number; a BigDecimal has no zero with a sign."""
    return value or value.copy_abs()


def sized(value: int, *operands: Any) -> int:
    """Return a whole number in the larger of the operands' kinds: an Integer at least, which wraps around as a Long does."""
    if any(isinstance(each, BigInteger) for each in operands):
        if value.bit_length() > MOST_BITS:
            raise EvaluationError(f"A BigInteger has more than {MOST_BITS} bits")
        return BigInteger(value)
    if any(isinstance(each, Long) for each in operands):
        return Long(wrapped(value, 64))
    return wrapped(value, 32)


def wrapped(value: int, bits: int) -> int:
    """Return the low bits of a number, as a signed one."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def negated(value: Any) -> Any:
    """Return ``-value``."""
    if isinstance(value, Decimal):
        return value.copy_negate() if value else value
    return type(value)(-value) if isinstance(value, float) else sized(-int(value), value)


def compared(left: Any, right: Any) -> int:
    """Return -1, 0 or 1 as ``left <=> right`` does for two numbers; NaN is equal to itself and larger than the rest."""
    if isinstance(left, float) or isinstance(right, float):
        left, right = double_of(left), double_of(right)
        if left != left or right != right:  # noqa: PLR0124 - only NaN differs from itself
            return int(left != left) - int(right != right)  # noqa: PLR0124 - likewise
        if left == right == 0:
            return int(math.copysign(1, left) > math.copysign(1, right)) - int(math.copysign(1, left) < math.copysign(1, right))
    return int(left > right) - int(left < right)


def whole(value: Any, bits: int) -> int:
    """Return a number without its fraction and in so many bits, as Java's casts do."""
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124 - only NaN differs from itself
            return 0
        most = 1 << (bits - 1)
        return max(-most, min(most - 1, int(value))) if math.isfinite(value) else (most - 1 if value > 0 else -most)
    if isinstance(value, Decimal) and value.adjusted() > MOST_BITS // 4:
        raise EvaluationError(f"A BigDecimal has more than {MOST_BITS} digits")
    return wrapped(int(value), bits)


def decimal_of(value: Any) -> Decimal:
    """Return a number as BigDecimal."""
    return _decimal(value)


def shortest_double(value: Any) -> float:
    """Return what Groovy's ``toDouble`` and ``as Double`` give: a Float keeps the digits that it is written with."""
    return float(java_float(value)) if isinstance(value, Float) else double_of(value)


def double_of(value: Any) -> float:
    """``Number.doubleValue``, an infinity for what is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _decimal(value: Any) -> Decimal:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise EvaluationError(f"A {class_of(value)} is no finite number")
        return Decimal((java_float(value) if isinstance(value, Float) else java_double(value)).decode())
    return value if isinstance(value, Decimal) else Decimal(int(value))


def _floating(sign: str, left: float, right: float) -> float:
    try:
        match sign:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "%":
                return math.fmod(left, right) if right and math.isfinite(left) else math.nan
    except OverflowError:
        return math.inf
    if right:
        return left / right
    if not left or left != left:  # noqa: PLR0124 - only NaN differs from itself
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _decimals(sign: str, left: Decimal, right: Decimal) -> Decimal:
    match sign:
        case "+":
            return _EXACT.add(left, right)
        case "-":
            return _EXACT.subtract(left, right)
        case "*":
            return _EXACT.multiply(left, right)
    if not right:
        raise EvaluationError("Division by zero")
    return _remainder(left, right)


def _remainder(left: Decimal, right: Decimal) -> Decimal:
    """``BigDecimal.remainder``: the scale depends on the zeros at the end of the quotient, which it is stripped of."""
    found, most = _EXACT.remainder(left, right), _scale(right) - _scale(left)
    if most <= 0:
        return found
    quotient = int(_EXACT.divide(_EXACT.subtract(left, found), right))
    zeros = 0
    while zeros < most and quotient % 10 == 0:
        quotient //= 10
        zeros += 1
    return rounded(found, _scale(right) - zeros)


def _divided(left: Decimal, right: Decimal) -> Decimal:
    """Divide exactly, or else to ten digits more than the operands have."""
    if not right:
        raise EvaluationError("Division by zero")
    precisions = len(left.as_tuple().digits), len(right.as_tuple().digits)
    exact = Context(prec=precisions[0] + math.ceil(10 * precisions[1] / 3), rounding=ROUND_HALF_UP, traps=[])
    found = exact.divide(left, right)
    if not exact.flags[Inexact]:
        return found
    found = Context(prec=max(precisions) + _EXTRA_PRECISION, rounding=ROUND_HALF_UP, traps=[]).divide(left, right)
    scale = max(_scale(left), _scale(right), _LEAST_SCALE)
    return rounded(found, scale) if _scale(found) > scale else found


def rounded(value: Decimal, places: int) -> Decimal:
    """Return the number rounded half up to ``places`` decimals (``BigDecimal.setScale``). Raises EvaluationError for too many digits."""
    try:
        return unsigned_zero(value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT_ROUNDED))
    except DecimalException:
        raise EvaluationError(f"The script rounds a number to {places} decimals") from None


_EXACT_ROUNDED: Final = Context(prec=MOST_BITS, rounding=ROUND_HALF_UP, traps=[InvalidOperation])


def _scale(value: Decimal) -> int:
    return -int(value.as_tuple().exponent)


def _power(left: Any, right: Any) -> Any:
    # Other exponents than Integers make doubles; a BigInteger takes any whole number.
    exact = type(right) in _SMALL or (isinstance(left, BigInteger) and isinstance(right, int))
    if exact and not isinstance(left, float) and right >= 0:
        if abs(right) * max(1, int(abs(left)).bit_length(), len(_decimal(left).as_tuple().digits)) > MOST_BITS:
            raise EvaluationError("A power is too large")
        if isinstance(left, Decimal):
            found: Any = Decimal(1)
            for _ in range(right):
                found = _EXACT.multiply(found, left)
            return unsigned_zero(found)
        found = int(left) ** int(right)
        if isinstance(left, BigInteger):
            return BigInteger(found)
        if isinstance(left, Long):
            return Long(found) if -(2**63) <= found < 2**63 else BigInteger(found)
        return found if -(2**31) <= found < 2**31 else BigInteger(found)
    found = _pow(double_of(left), double_of(right))
    if found.is_integer() and abs(found) < 2**63:
        return int(found) if abs(found) < 2**31 else Long(int(found))
    return found


def _pow(base: float, exponent: float) -> float:
    """``Math.pow``."""
    odd = exponent.is_integer() and exponent % 2 == 1
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        if base:
            return math.nan
        return math.copysign(math.inf, base) if odd else math.inf
