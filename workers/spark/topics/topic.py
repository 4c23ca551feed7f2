"""The layouts of a topic's events, and which of them is the newest.

The source's commits decide, not offsets: after a crash a connector sends old events again, after newer ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from workers.spark.failure import UNREADABLE, JobError
from workers.spark.tables.evolution import Drop, Rename, steps
from workers.spark.tables.table import Table
from workers.spark.topics.known import Known, TopicState, Unreadable
from workers.spark.topics.layouts import Form, Layout
from workers.spark.topics.records import Embedded
from workers.spark.topics.survey import Group

LayoutPlace = tuple[str, int | None, int | None]
"""Topic, layout, key layout."""
_NEW: Final = TopicState()


@dataclass(frozen=True, slots=True)
class Seen:
    """What the record at ``place`` (partition, offset) shows: its table (schema, name) and its commit (ts_ms, lsn); None if not."""

    place: tuple[int, int]
    table: tuple[str, str] | None
    commit: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Text:
    """The texts of the schemas of value and key. None as the value's text means that the records are not a table's."""

    value: str | None
    key: str | None
    seen: Seen | None = None
    """What one record with these schemas shows, if that was read with them."""


Texts = Mapping[LayoutPlace, Text | Unreadable]
"""Layout → its schemas."""


class Schemas(Protocol):
    """The source of a format's schemas."""

    def of(self, records: DataFrame, groups: Sequence[Group]) -> Texts:
        """The schemas of ``groups``. ``records`` (Kafka's own) include some of each group."""

    def layout(self, value: str, key: str | None) -> Layout:
        """The layout that the texts describe. Raises JobError when they do not describe a table."""

    def places(self, cut: DataFrame, wanted: Mapping[str, Sequence[Known]]) -> DataFrame:
        """For the topics' cut records with these layouts: topic, layout, key_layout, and the commit of each change.

        The commit is ``b``: struct<ts_ms, lsn, schema, table, op>.
        """


def learned(
    states: Mapping[str, TopicState],
    groups: Sequence[Group],
    cut: Callable[[], DataFrame],
    schemas: Schemas,
    raw: DataFrame,
    kept: Texts | None = None,
    passing: Collection[str] = (),
) -> dict[str, TopicState]:
    """``states`` with the additions of the groups: new layouts, the last commit of each, and the topics that are set aside.

    ``cut`` returns the cut records of the groups. ``raw`` are Kafka's records of the batch. ``kept`` has the texts for groups of earlier
    batches. A topic with an unreadable record is set aside as a whole. For topics in ``passing`` such records are ignored instead, as are
    records that are not a table's.
    """
    topics, seen = dict(states), {}
    samples = {(group.topic, group.layout, group.key_layout): group.sample for group in groups if not group.empty}
    for (topic, layout, key_layout), text in unknown(states, groups, schemas, raw, kept or {}).items():
        state = topics.get(topic, TopicState())
        if isinstance(text, Unreadable) and topic not in passing:
            topics[topic] = replace(state, aside=state.aside or text.reason)
            continue
        found = Text(None, None) if isinstance(text, Unreadable) else text
        topics[topic] = replace(state, layouts=(*state.layouts, Known(layout, key_layout, found.value, found.key, (0, 0))))
        # A record that was looked at before the batch may not be one of the batch.
        if found.seen is not None and found.seen.place == samples[topic, layout, key_layout]:
            seen[topic] = found.seen
    for topic, shown in seen.items():
        state = topics[topic]
        if len(state.layouts) == 1:
            topics[topic] = replace(state, layouts=(_newer(state.layouts[0], shown.commit),), table=state.table or shown.table)
    groups = [group for group in groups if topics.get(group.topic, _NEW).aside is None]
    for topic, (place, table) in _places(topics, groups, cut, schemas).items():
        state = topics[topic]
        layouts = tuple(_newer(known, place.get((known.value, known.key))) for known in state.layouts)
        # A router may lead several tables of the source to a topic. Their rows stay in one table, under the name that was seen first.
        topics[topic] = replace(state, layouts=layouts, table=state.table or table)
    return topics


def schemas_of(places: Iterable[LayoutPlace], states: Mapping[str, TopicState]) -> list[Embedded]:
    """The texts of the layouts' schemas, as far as the states have them."""
    found = (_known(states, place) for place in places)
    return list(dict.fromkeys((known.value_schema, known.key_schema) for known in found if known is not None))


def is_known(states: Mapping[str, TopicState], group: Group) -> bool:
    """Whether the group's layout is one of its topic's state. Pure."""
    return _known(states, (group.topic, group.layout, group.key_layout)) is not None


def unknown(states: Mapping[str, TopicState], groups: Sequence[Group], schemas: Schemas, raw: DataFrame, kept: Texts) -> Texts:
    """The texts of layouts that ``states`` do not have, from ``kept``, else from the batch's ``raw`` records.

    Topics that are set aside are left out.
    """
    present = {(group.topic, group.layout, group.key_layout): group for group in groups if not group.empty}
    read = {place for place in present if states.get(place[0], _NEW).aside is None}
    wanted = {place: group for place, group in present.items() if place in read and _known(states, place) is None}
    asked = [group for place, group in wanted.items() if place not in kept]
    texts = {**kept, **(schemas.of(raw, asked) if asked else {})}
    return {place: texts.get(place, Text(None, None)) for place in wanted}


def _known(states: Mapping[str, TopicState], place: LayoutPlace) -> Known | None:
    topic, value, key = place
    return next((known for known in states.get(topic, _NEW).layouts if (known.value, known.key) == (value, key)), None)


def _was_seen(state: TopicState) -> bool:
    """Whether a record has shown the table, or a commit; a flattened row does not name its table."""
    return state.table is not None or any(known.newest > (0, 0) for known in state.layouts)


def _newer(known: Known, place: tuple[int, int] | None) -> Known:
    return known if place is None or place <= known.newest else replace(known, newest=place)


Places = Mapping[tuple[int | None, int | None], tuple[int, int]]


def _places(
    topics: Mapping[str, TopicState], groups: Sequence[Group], cut: Callable[[], DataFrame], schemas: Schemas
) -> dict[str, tuple[Places, tuple[str, str] | None]]:
    """For topics with several layouts, or of which no record was seen: the last commit of each layout, and the table."""
    read = {group.topic for group in groups if not group.empty}
    asked = [name for name in read if len(topics[name].layouts) > 1 or not _was_seen(topics[name])]
    present = {(group.topic, group.layout, group.key_layout) for group in groups if not group.empty}
    wanted = {name: [k for k in topics[name].layouts if k.value_schema is not None and (name, k.value, k.key) in present] for name in asked}
    wanted = {name: layouts for name, layouts in wanted.items() if layouts}
    if not wanted:
        return {}
    several = [name for name in wanted if len(topics[name].layouts) > 1]
    # One event shows the table's name. All events are needed only for topics with several layouts.
    looked = F.col("topic").isin(several)
    for group in groups:
        if group.topic in wanted and group.topic not in several and not group.empty:
            partition, offset = group.sample
            looked |= (F.col("topic") == group.topic) & (F.col("partition") == partition) & (F.col("offset") == offset)
    place = F.struct(F.coalesce("b.ts_ms", F.lit(0)).alias("ts_ms"), F.coalesce("b.lsn", F.lit(0)).alias("lsn"))
    place = F.when(~F.col("b.op").eqNullSafe("t"), place)
    named = F.when(F.col("b.table").isNotNull(), F.struct("b.schema", "b.table"))
    rows = (
        schemas.places(cut().where(looked), wanted)
        .groupBy("topic", "layout", "key_layout")
        .agg(F.max(place).alias("place"), F.min(named).alias("table"))
        .collect()
    )
    found: dict[str, tuple[Places, tuple[str, str] | None]] = {}
    for row in rows:
        places, table = found.get(row["topic"], ({}, None))
        names = [one for one in (table, None if row["table"] is None else tuple(row["table"])) if one is not None]
        own = {} if row["place"] is None else {(row["layout"], row["key_layout"]): tuple(row["place"])}
        found[row["topic"]] = ({**places, **own}, min(names, default=None))
    return found


class Topic:
    """A topic's table in its newest layout, and the mapping of older layouts to it.

    ``before`` is the state before the records that ``state`` takes into account.
    """

    def __init__(self, name: str, state: TopicState, layout: Callable[[str, str | None], Layout], before: TopicState | None = None) -> None:
        self.name = name
        self.state = state
        self._before = before or state
        tables = [known for known in state.layouts if known.value_schema is not None]
        rows = [known for known in tables if known.shows_rows]
        self._ordered = sorted(rows or tables, key=lambda known: known.newest)
        self._layouts = {
            (known.value, known.key): layout(known.value_schema or "", known.key_schema).filled(known.filled) for known in tables
        }
        if self._ordered:
            newest = self._layouts[self._ordered[-1].value, self._ordered[-1].key]
            schema, table = self._table(newest)
            _check_key(name, newest)
            self.table = Table(schema, table, newest.columns, tuple(column.name for column in newest.key))

    @property
    def newest(self) -> tuple[int, int]:
        """The last commit (ts_ms, lsn) of all layouts."""
        return self._ordered[-1].newest

    @property
    def newest_layout(self) -> int | None:
        """The id of the newest layout, of the values."""
        return self._ordered[-1].value

    @property
    def passed(self) -> tuple[Table, ...]:
        """The table's forms since the previous batch, oldest first, without the newest."""
        followed = self.state.followed
        later = [known for known in self._ordered[:-1] if followed is not None and known.newest > followed]
        return tuple(self._form(known) for known in later)

    @property
    def forms(self) -> tuple[Table, ...]:
        """If there are forms that the previous batch did not know, these and the forms between them, before and after, oldest first.

        Unlike :attr:`passed`, it has those of the first batch, and those whose changes are older than what earlier batches followed.
        It begins with the form before the oldest unknown one, or with :attr:`known` if that is older.
        """
        before = {(known.value, known.key) for known in self._before.layouts}
        new = [at for at, known in enumerate(self._ordered) if (known.value, known.key) not in before]
        former = self._former
        if former is not None and not new:
            return ()
        first = 0 if former is None else min(self._ordered.index(former), max(new[0] - 1, 0))
        return tuple(self._form(known) for known in self._ordered[first:])

    @property
    def known(self) -> Table | None:
        """The table's last form that the previous batch knew; None before the first batch.

        Without ``before`` it may be an earlier one if later changes have this form too.
        """
        return None if self._former is None else self._form(self._former)

    @property
    def _former(self) -> Known | None:
        """The layout of :attr:`known`."""
        followed = self.state.followed
        if followed is None or not self._ordered:
            return None
        ordered = {(known.value, known.key): known for known in self._ordered}
        # The present state knows the last change of each form only, so one that goes on would seem to be later.
        former = [known for known in self._before.layouts if known.newest <= followed and (known.value, known.key) in ordered]
        earlier = max(former, key=lambda known: known.newest, default=self._ordered[0])
        return ordered[earlier.value, earlier.key]

    @property
    def shape(self) -> object:
        """What the decoding of the topic's changes depends on. Equal ones are decoded equally."""
        return tuple(replace(known, newest=(0, 0)) for known in (*self._ordered, *self.state.layouts))

    def _form(self, known: Known) -> Table:
        return replace(self.table, columns=self._layouts[known.value, known.key].columns)

    @property
    def is_table(self) -> bool:
        """Whether the topic holds changes of a table."""
        return bool(self._ordered)

    def layout(self, value: int | None, key: int | None) -> Layout | None:
        """The layout of a group; None if it is not a table's."""
        return self._layouts.get((value, key))

    def layouts(self) -> list[tuple[int | None, int | None, Layout]]:
        """All layouts with their ids (of value and key), the newest last."""
        newest = self._ordered[-1]
        found = [(value, key, layout) for (value, key), layout in self._layouts.items() if (value, key) != (newest.value, newest.key)]
        return [*found, (newest.value, newest.key, self._layouts[newest.value, newest.key])]

    def value_of(self, key: int | None) -> int | None:
        """The id of the newest value layout with this key layout, for tombstones. None without one."""
        return next((known.value for known in reversed(self._ordered) if known.key == key), None)

    def key_names(self, value: int | None, key: int | None) -> dict[str, str]:
        """Column of the table's key → its name in a layout's key. Columns that this key does not have are absent."""
        there = {column.name for column in self._layouts[value, key].key}
        return {name: old for name, old in self.former(value).items() if name in self.table.key and old in there}

    def has_key(self, value: int | None, key: int | None) -> bool:
        """Whether a layout's key has the columns of the table's key."""
        names = self.key_names(value, key)
        return len(names) == len(self.table.key) == len(self._layouts[value, key].key)

    def former(self, value: int | None) -> dict[str, str]:
        """Column of the table → its name in the layout ``value``. Columns added later are absent."""
        start = max((at for at, known in enumerate(self._ordered) if known.value == value), default=len(self._ordered) - 1)
        chain = [self._layouts[known.value, known.key] for known in self._ordered[start:]]
        names = {column.name: column.name for column in chain[0].columns}
        for old, new in pairwise(chain):
            there = [(column.name, column.kind.type) for column in old.columns]
            for step in steps(there, replace(self.table, columns=new.columns)):
                if isinstance(step, Rename):
                    names = {step.new if now == step.old else now: first for now, first in names.items()}
                elif isinstance(step, Drop):
                    names.pop(step.name, None)
        return names

    def _table(self, newest: Layout) -> tuple[str, str]:
        if self.state.table is not None and newest.form is Form.ENVELOPE:
            return self.state.table
        return table_of(self.name)


def table_of(topic: str) -> tuple[str, str]:
    """The schema and the name of the table that a topic's name shows."""
    parts = topic.split(".")
    return (parts[-2], parts[-1]) if len(parts) > 1 else ("public", parts[-1])


def _check_key(topic: str, layout: Layout) -> None:
    """Raise JobError unless the values have all columns of the key. A transform may have added some to the key."""
    columns = {column.name for column in layout.columns}
    lacking = [column.name for column in layout.key if column.name not in columns]
    if lacking:
        remedy = "Keep the table's own key (ByLogicalTableRouter: key.enforce.uniqueness=false), or leave the topic out."
        raise JobError(UNREADABLE, f"The key of {topic} has {', '.join(lacking)}, which its values lack. {remedy}")
