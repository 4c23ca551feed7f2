"""Flattens effects whose rows are in the driver, without a Spark job."""

from __future__ import annotations

import json
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import IntegerType, LongType, ShortType, StringType

from workers.spark.fallback import Fallbacks
from workers.spark.sinks.incoming import Incoming, bounding, flat, limits
from workers.spark.tables.local_rows import NotLocal, Plans, joined_text, keyable, local_frame, local_rows
from workers.spark.tables.table import DELETE, Effects, Table

_WHOLE: Final = (ShortType, IntegerType, LongType)


class LocalIncoming:
    """Does what :func:`workers.spark.sinks.incoming.incoming` does, which takes a job. The plans are kept, one for each table."""

    def __init__(self) -> None:
        self._plans: Final = Plans(_described)
        self._fallbacks: Final = Fallbacks("The flattening of rows")

    def batch(self, effects: Effects) -> Incoming | None:
        """The flat effects; None if their rows are not in the driver, some columns stay as they are, or a step fails."""
        table = effects.table
        rows = local_rows(effects.rows) if keyable(table) else None
        if rows is None:
            return None
        types = [column.kind.type for name in table.key for column in table.columns if column.name == name]
        bound = bounding(types)
        name, of = table.key[bound], types[bound]
        # Python does not order the texts of other types.
        if not isinstance(of, (*_WHOLE, StringType)):
            return None
        try:
            plan = self._plans.plan(effects)
            made = plan.run(rows)
            found = [json.loads(text) for text in plan.texts(made, 0)]
            columns = plan.columns(made, range(1, plan.output.size()))
            frame = local_frame(effects.session, plan.output.drop(1), columns)
        except (NotLocal, Py4JError, PySparkException) as error:
            self._fallbacks.report(table.full_name, error)
            return None
        if any(kept != "0" for _, kept, *_ in found):
            return None
        deletes = sum(op == DELETE for op, *_ in found)
        if effects.seen is not None:
            effects.seen(len(found) - deletes, deletes)
        nullable = frozenset(key for at, key in enumerate(table.key, 2) if any(one[at] is None for one in found))
        texts = [] if name in nullable else sorted((one[2 + bound] for one in found), key=int if isinstance(of, _WHOLE) else str.encode)
        ends = limits(name, of, texts[0], texts[-1]) if texts else (None, None, None)
        return Incoming(table, len(found), effects.truncated, effects.replaced, frozenset(), nullable, frame, *ends, deletes)


def _described(effects: DataFrame, table: Table) -> DataFrame:
    """A text of the operation, the number of kept columns and the key; then the flat columns."""
    rows = flat(effects, table)
    kept = F.coalesce(F.size("kept"), F.lit(0)).cast("string")
    described = joined_text([F.col("op"), kept, *(F.col(f"k{at}").cast("string") for at in range(len(table.key)))])
    return rows.select(described.alias("described"), "*")
