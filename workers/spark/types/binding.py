"""A name for an intermediate value inside a Spark expression."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """``body`` of ``value``. ``value`` is computed once, however often ``body`` uses it.

    A Column is a tree, so using one twice copies it, and copies of copies grow until Spark's planner takes minutes.
    An array of one element and a lambda over it bind the value to a variable. get is cheaper to plan than element_at, each copy of which
    asks whether its argument is resolved and of which type it is, down to all leaves.
    """
    return F.get(F.transform(F.array(value), body), F.lit(0))
