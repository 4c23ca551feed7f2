"""The rows of effects in the driver's memory, as columns of Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """One row for each key that changed: a whole row, which keeps no value of the target, or a delete.

    ``new`` is true of the whole rows. ``keys`` has the columns that identify a row. ``columns`` has those of the mirror, in their order and
    in Arrow's types for theirs; of a delete they are null, except ``__lsn``.
    """

    new: pa.ChunkedArray
    keys: pa.Table
    columns: pa.Table

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    @property
    def upserts(self) -> int:
        """How many of the rows are new ones."""
        return int(pc.sum(self.new, min_count=0).as_py())

    @property
    def identities(self) -> list[tuple[Any, ...]]:
        """The values of each row's key."""
        return list(zip(*(column.to_pylist() for column in self.keys.columns), strict=True))

    @property
    def whole(self) -> pa.Table:
        """The columns of the new rows."""
        return self.columns.filter(self.new) if self.upserts < len(self) else self.columns
