"""The files of a small Delta table as of its newest version, which are replaced together.

See https://github.com/delta-io/delta/blob/master/PROTOCOL.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame

from workers.spark.sinks.delta.commit import DeltaTableFiles
from workers.spark.sinks.delta.key_bounds import BoundedColumn


class DeltaVersionFiles:
    """See :class:`workers.spark.sinks.small_tables.TableFiles`."""

    def __init__(self, files: DeltaTableFiles, column: BoundedColumn | None = None) -> None:
        self.files: Final = files
        self.column: Final = column
        """The key's first column if its values can bound the files."""
        self.size = files.size
        self.commits = 0
        """The commits since the last checkpoint."""
        self.version = files.version
        self.mark = files.mark(files.version)
        """The mark of the version's file in the log."""
        self.present = files.files()
        """Delta's ``AddFile`` of each file of the version."""

    def rows(self) -> DataFrame:
        """See :class:`workers.spark.sinks.small_tables.TableFiles`."""
        return self.files.rows(self.present)

    def prepare(self) -> None:
        """See :class:`workers.spark.sinks.small_tables.TableFiles`."""
        self.files.prepare()

    def replace(self, rows: Any, keys: Sequence[str], counts: Mapping[str, int]) -> bool:
        """See :class:`workers.spark.sinks.small_tables.TableFiles`. The history shows ``counts``."""
        # With bounds, later batches of a table that has outgrown this way need not look for their keys in the file.
        stats = {} if self.column is None else self.column.stats_of(keys)
        return self.replaced(lambda: [] if rows.isEmpty() else [self.files.write(rows, stats)], counts)

    def replaced(self, written: Callable[[], list[Any]], counts: Mapping[str, int]) -> bool:
        """As :meth:`replace`. ``written`` writes the files, and returns Delta's ``AddFile`` of each."""
        # The version's own file shows that nobody has removed the table, or made another one in its place.
        if self.files.mark(self.version) != self.mark:
            return False
        added = written()
        metrics = {f"numTargetRows{what}": number for what, number in counts.items()}
        self.mark = self.files.commit(self.version + 1, [file.remove() for file in self.present], added, "MERGE", metrics)
        self.version, self.present, self.commits = self.version + 1, added, self.commits + 1
        self.size = sum(int(file.size()) for file in added)
        return True
