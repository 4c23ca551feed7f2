"""A Delta table whose files the process knows, as of its newest version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from workers.spark.sinks.delta.changed_rows import DriverPlans
from workers.spark.sinks.delta.commit import DeltaTableFiles, file_name
from workers.spark.sinks.delta.key_bounds import BoundedColumn
from workers.spark.sinks.delta.known_file import KnownFile
from workers.spark.sinks.delta.log_folder import Mark
from workers.spark.tables.table import Table


@dataclass(slots=True)
class OpenTable:
    """A table as of its newest version, whose file in the log has ``mark``. ``present`` has its files by their names.

    ``columns`` are the columns of the key; None for one whose values cannot bound files.
    """

    table: Table
    files: DeltaTableFiles
    present: dict[str, KnownFile]
    version: int
    mark: Mark
    columns: Sequence[BoundedColumn | None]
    commits: int = 0
    plans: DriverPlans | None = None

    @property
    def column(self) -> BoundedColumn | None:
        """The key's first column if its values can bound files."""
        return self.columns[0]

    @property
    def key(self) -> Sequence[BoundedColumn] | None:
        """The columns of the key if all of them have whole numbers or texts."""
        known = [column for column in self.columns if column is not None]
        return known if len(known) == len(self.columns) else None

    def planned(self, session: SparkSession) -> DriverPlans:
        """The projections of rows in the driver."""
        if self.plans is None:
            self.plans = DriverPlans(session, self.table)
        return self.plans

    def is_newest(self) -> bool:
        """Whether the table still has the version.

        The version's own file shows that nobody has removed the table, or made another one in its place. After another process's commit
        the files may have been removed.
        """
        return self.files.mark(self.version) == self.mark and not self.files.exists(self.version + 1)

    def known(self, adds: Sequence[Any]) -> list[KnownFile]:
        """New files of the table, from their ``AddFile``."""
        return [KnownFile.of(add, None if self.column is None else self.column.name) for add in adds]

    def commit(self, removed: Sequence[Any], added: Sequence[KnownFile], operation: str, counts: Mapping[str, int]) -> None:
        """Commit Delta's ``RemoveFile`` and the new forms of files, and remember the version. See :meth:`DeltaTableFiles.commit`."""
        present = dict(self.present)
        for one in removed:
            present.pop(file_name(str(one.path())), None)
        present |= {file_name(str(file.add.path())): file for file in added}
        self.mark = self.files.commit(self.version + 1, removed, [file.add for file in added], operation, counts)
        self.version, self.present, self.commits = self.version + 1, present, self.commits + 1
