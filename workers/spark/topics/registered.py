"""Records whose schemas are in a registry: each names its schemas by their ids. The formats differ in the schemas' language only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import LongType, StringType, StructField, StructType

from workers.spark.failure import JobError
from workers.spark.topics.avro import connect_schema, read_avro
from workers.spark.topics.id_place import NO_ID, IdPlace, SchemaName, Side, is_hashed
from workers.spark.topics.known import Known, Unreadable
from workers.spark.topics.layouts import SOURCE, Layout, Reader, connect_layout, is_table
from workers.spark.topics.registry import SchemaRegistry
from workers.spark.topics.survey import Group, sampled
from workers.spark.topics.topic import Text, Texts
from workers.spark.types import Schema

_PLACE: Final = StructType(
    [
        StructField("source", SOURCE),
        StructField("op", StringType()),
        StructField("__source_ts_ms", LongType()),
        StructField("__lsn", LongType()),
    ]
)


@dataclass(frozen=True, slots=True)
class Language:
    """A language of schemas, as one converter writes it.

    ``connect`` returns the Connect schema that JsonConverter would embed. ``reader`` returns what reads payloads of a schema. Both take the
    schema's text, and raise JobError, or one of Python's errors, for a text that the converter does not write. ``stored`` adds to the
    registry's text what only the record's name of its schema says.
    """

    converter: str
    connect: Callable[[str], Schema]
    reader: Callable[[str], Reader]
    stored: Callable[[str, SchemaName], str] = lambda text, _name: text


def avro_language() -> Language:
    """Avro, as AvroConverter writes it."""
    return Language("AvroConverter", connect_schema, lambda text: partial(_read_avro, text=text))


def _read_avro(payload: Column, of: StructType, text: str) -> Column:
    return read_avro(payload, text, of, 0)


class RegisteredSchemas:
    """Finds the schemas of groups in ``registry``. ``place`` is where records name them."""

    def __init__(self, placeholder: str, registry: SchemaRegistry, language: Language, place: IdPlace) -> None:
        self._placeholder = placeholder
        self._registry = registry
        self._language = language
        self._place = place

    def of(self, records: DataFrame, groups: Sequence[Group]) -> Texts:
        """The schemas of ``groups`` (see :data:`workers.spark.topics.topic.Texts`). Raises JobError when the registry cannot be reached."""
        named = [group for group in groups if is_hashed((group.layout, group.key_layout))]
        names = self._place.names(sampled(records, named)) if named else {}
        return {
            (group.topic, group.layout, group.key_layout): self._texts(group, names.get((group.topic, *group.sample), {}))
            for group in groups
        }

    def layout(self, value: str, key: str | None) -> Layout:
        """The layout that the texts describe. Raises JobError when they do not describe a table."""
        language = self._language
        found = connect_layout(language.connect(value), None if key is None else language.connect(key), self._placeholder)
        found = replace(found, reads_value=language.reader(value))
        return found if key is None else replace(found, reads_key=language.reader(key))

    def places(self, cut: DataFrame, wanted: Mapping[str, Sequence[Known]]) -> DataFrame:
        """The commit of each change (see :class:`workers.spark.topics.topic.Schemas`)."""
        parts = []
        for topic, layouts in wanted.items():
            for known in layouts:
                mine = (F.col("topic") == topic) & F.col("layout").eqNullSafe(known.value) & F.col("key_layout").eqNullSafe(known.key)
                block = self._language.reader(known.value_schema or "")(F.when(mine, F.col("value")), _PLACE)
                parts.append(cut.where(mine & F.col("value").isNotNull()).withColumn("e", block))
        block = F.col("e")
        ts_ms, lsn = F.coalesce(block["source"]["ts_ms"], block["__source_ts_ms"]), F.coalesce(block["source"]["lsn"], block["__lsn"])
        table = block["source"]
        named = (table["schema"].alias("schema"), table["table"].alias("table"))
        place = F.struct(ts_ms.alias("ts_ms"), lsn.alias("lsn"), *named, block["op"].alias("op"))
        return reduce(DataFrame.unionByName, parts).select("topic", "layout", "key_layout", place.alias("b"))

    def _texts(self, group: Group, names: Mapping[Side, SchemaName]) -> Text | Unreadable:
        place = "partition {}, offset {}".format(*group.sample)
        if group.layout is None:
            return Unreadable(f"{place}: it has no schema's id where {self._language.converter} writes one")
        if group.key_layout == NO_ID:
            return Unreadable(
                f"{place}: its key has no schema's id where {self._language.converter} writes one; use one converter for both"
            )
        value, key = self._text(names.get("value", SchemaName(group.layout))), None
        try:
            if isinstance(value, Unreadable) or not is_table(self._language.connect(value)):
                return Unreadable(f"{place}: {value.reason}") if isinstance(value, Unreadable) else Text(None, None)
            key = None if group.key_layout is None else self._text(names.get("key", SchemaName(group.key_layout)))
            if isinstance(key, Unreadable):
                return Unreadable(f"{place}: {key.reason}")
            self.layout(value, key)
        except (ValueError, KeyError, TypeError, AttributeError):
            return Unreadable(f"{place}: its schema is not one that {self._language.converter} writes")
        except JobError as error:
            return Unreadable(f"{place}: {error}")
        return Text(value, key)

    def _text(self, name: SchemaName) -> str | Unreadable:
        text = self._registry.schema(name.key)
        return text if isinstance(text, Unreadable) else self._language.stored(text, name)
