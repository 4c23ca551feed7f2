"""The rows of a small Delta table as columns of Arrow, which the driver changes and writes without Java."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from workers.spark.sinks.delta.version_files import DeltaVersionFiles
from workers.spark.sinks.held_keys import HeldKeys
from workers.spark.sinks.incoming import flat
from workers.spark.sinks.small_tables import FewRows, tell
from workers.spark.tables.arrow_rows import ArrowRows
from workers.spark.tables.table import LSN, POSITION, UPSERT, Effects, Table, keys_of


@dataclass(slots=True)
class HeldInArrow:
    """See :class:`workers.spark.sinks.small_tables.Held`. ``keys`` are those of ``rows``, in the same order."""

    table: Table
    files: DeltaVersionFiles
    rows: pa.Table
    keys: HeldKeys[tuple[Any, ...]]

    @classmethod
    def of(cls, table: Table, files: DeltaVersionFiles, rows: pa.Table) -> HeldInArrow | None:
        """The rows of ``files``; None if two of them have the same key."""
        keys = list(zip(*(rows.column(at).to_pylist() for at in places_of(table)), strict=True))
        return cls(table, files, rows, HeldKeys(keys)) if len({*keys}) == len(keys) else None

    def __len__(self) -> int:
        return len(self.keys)

    def changed(self, effects: Effects, rows: FewRows) -> bool:
        """See :class:`workers.spark.sinks.small_tables.Held`."""
        given = rows if isinstance(rows, ArrowRows) else in_arrow(effects)
        if given is None:
            return False
        tell(effects, given.upserts, len(given))
        places, counts = self.keys.changed(list(zip(given.new.to_pylist(), given.identities, strict=True)))
        if not counts.total():
            return True
        # The names in the table's files are others than the columns'.
        new = given.columns.rename_columns(self.rows.schema.names).cast(self.rows.schema)
        self.rows = pa.concat_tables([self.rows, new]).take(pa.array(places, pa.int64())).combine_chunks()
        return self.files.replaced(lambda: [self.files.files.write_arrow(self.rows)] if places else [], counts)


def places_of(table: Table) -> Sequence[int]:
    """The places of the key's columns among those of the mirror. Pure."""
    if not table.key:
        return [len(table.columns) + 1]
    names = [column.name for column in table.columns]
    return [names.index(name) for name in keys_of(table)]


def in_arrow(effects: Effects) -> ArrowRows | None:
    """The rows of the effects; None if some columns stay as they are in the table. One job reads them."""
    table = effects.table
    found = flat(effects.rows, table).toArrow()
    if pc.any(pc.greater(pc.list_value_length(found["kept"]), 0)).as_py():
        return None
    keys = found.select([f"k{at}" for at in range(len(keys_of(table)))])
    own = {LSN: found["lsn"]} if table.key else {LSN: found["lsn"], POSITION: found["k0"]}
    columns = {column.name: found[f"c{at}"] for at, column in enumerate(table.columns)}
    return ArrowRows(pc.equal(found["op"], UPSERT), keys, pa.table(columns | own))
