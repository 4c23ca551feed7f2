"""The kinds of a column's values: their form in events, their Spark type, and their comparison with PostgreSQL's values.

A :class:`Kind` is chosen by a Connect schema (Debezium documentation, "Data type mappings"); without embedded schemas
the catalog's columns stand in for it (:mod:`workers.spark.source.catalog`). Spark decodes and compares the values by expressions. The
values of simple kinds can be decoded without Spark too, in columns of Arrow (:mod:`workers.spark.types.arrow_values`).
"""

from workers.spark.types.connect import kind_of
from workers.spark.types.kind import UNAVAILABLE, Expression, Kind, Placeholder, Rich, Schema, Sign
from workers.spark.types.temporal import INFINITE_DAYS, INFINITE_MICROS

__all__ = ["INFINITE_DAYS", "INFINITE_MICROS", "UNAVAILABLE", "Expression", "Kind", "Placeholder", "Rich", "Schema", "Sign", "kind_of"]
