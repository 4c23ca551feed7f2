"""Arrays of one dimension, as Debezium models them."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, LongType, StringType

from workers.spark.types.kind import Expression, Kind, Placeholder, Rich, Sign, same


def array(item: Kind, placeholder: Placeholder) -> Kind:
    """An array of ``item``. PostgreSQL's value is compared through JSON, element by element."""
    element, (held, signs) = item.sql.replace("{c}", "e.v"), _held(item, placeholder)
    return Kind(
        ArrayType(item.raw),
        ArrayType(item.type),
        same if item.decode is same else lambda raw: F.transform(raw, item.decode),
        lambda value: F.to_json(F.transform(value, item.text)),
        lambda text: F.transform(F.from_json(text, "array<string>"), item.read),
        sql="case when {c} is not null then"
        f" to_json(array(select {element} from unnest({{c}}) with ordinality e(v, n) order by e.n))::text end",
        held=held,
        signs=signs,
        comparable=item.comparable,
        item=item,
        rich=_rich(item.rich),
    )


def _held(item: Kind, placeholder: Placeholder) -> tuple[Expression | None, tuple[Sign, ...]]:
    """Debezium's placeholder in an array: one element that is the placeholder, or its bytes as numbers. Other arrays have none."""
    match item.raw:
        case StringType():
            alone = [placeholder.text, placeholder.uuid]
            return lambda raw: (F.size(raw) == 1) & F.element_at(raw, 1).isin(alone), (Sign.TEXT, Sign.UUID)
        case BinaryType():
            return lambda raw: (F.size(raw) == 1) & (F.element_at(raw, 1) == F.lit(placeholder.octets)), (Sign.OCTETS,)
        case IntegerType() | LongType():
            kind = ArrayType(item.raw)
            return lambda raw: raw == F.array(*(F.lit(number) for number in placeholder.numbers)).cast(kind), (Sign.NUMBERS,)
        case _:
            return None, ()


def _rich(item: Rich | None) -> Rich | None:
    def each(value: Column, rich: Rich) -> Column:
        return F.transform(value, rich.of)

    return None if item is None else Rich(ArrayType(item.type), lambda value: each(value, item))
