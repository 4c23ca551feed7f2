"""JSON, hstore, bit strings, and structured values without a rule: text or maps of text."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import BinaryType, MapType, StringType

from workers.spark.types.binding import let
from workers.spark.types.kind import Kind, Placeholder, Schema, Sign, parameter


def canonical(text: Column) -> Column:
    """JSON with sorted members and without blanks. Text that is not a single JSON value is returned unchanged."""
    return let(text, lambda once: F.coalesce(F.to_json(F.try_parse_json(once)), once))


def document(_schema: Schema, placeholder: Placeholder) -> Kind:
    """json, jsonb, and hstore sent as JSON: the text as it was sent. Only the comparison parses it."""
    return Kind(
        StringType(),
        StringType(),
        text=canonical,
        read=canonical,
        sql="to_json({c})::text",
        held=lambda raw: raw.isin(placeholder.text, placeholder.pair),
        signs=(Sign.TEXT,),
    )


def _map_text(value: Column) -> Column:
    return canonical(F.to_json(value, {"ignoreNullFields": "false"}))


def text_map(_schema: Schema, placeholder: Placeholder) -> Kind:
    """Pairs of hstore, sent as a map of strings."""
    of = MapType(StringType(), StringType())
    return Kind(
        of,
        of,
        text=_map_text,
        read=lambda text: F.from_json(text, of),
        sql="to_json({c})::text",
        held=lambda raw: F.element_at(raw, placeholder.text) == placeholder.text,
        signs=(Sign.TEXT,),
    )


OPAQUE: Final = Kind(StringType(), StringType(), text=canonical, comparable=False)
"""A struct or map without a rule of its own, as JSON text."""


def bits(schema: Schema, _placeholder: Placeholder) -> Kind:
    """Debezium's little-endian bytes as binary digits.

    Debezium does not send leading zeros. The schema's ``length`` does not distinguish bit(n), which has them, from varbit(n). Only the
    source's type does, if it is propagated (``column.propagate.source.type``). Then bit(n) has its n digits here. Otherwise leading
    zeros are lost, and a value of zeros alone is an empty text.
    """
    length = parameter(schema, "length")
    whole = length if parameter(schema, "__debezium.source.column.type") == "BIT" else None

    def digits(raw: Column) -> Column:
        pairs = F.regexp_extract_all(F.hex(raw), F.lit("(..)"), F.lit(1))
        octets = F.transform(F.reverse(pairs), lambda pair: F.lpad(F.conv(pair, 16, 2), 8, "0"))
        bare = F.ltrim(F.concat_ws("", octets), F.lit("0"))
        return F.when(raw.isNotNull(), F.lpad(bare, int(whole), "0") if whole else bare)

    def read(text: Column) -> Column:
        return text if whole else F.ltrim(text, F.lit("0"))

    return Kind(BinaryType(), StringType(), digits, read=read)
