"""Joins the small files of a Delta table that many batches have made, with Arrow or by one job, in one commit.

A batch of few rows adds a file to each of its tables. Only small files are joined, so that each row is written about once more, whatever
the size of the table. To sort or to join all rows of a table is the task of :mod:`workers.spark.maintenance`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from workers.spark.sinks.delta.known_file import KnownFile
from workers.spark.sinks.delta.open_table import OpenTable

MANY: Final = 100
"""So many small files are joined."""
SMALL_FILE: Final = 1024 * 1024
"""The most bytes of a small file. A file of this size has some ten thousand rows, as many as a batch of few rows has at most."""


def small_files(present: Collection[KnownFile]) -> list[KnownFile]:
    """The small files, if they are many; else none. Pure."""
    found = [file for file in present if file.octets <= SMALL_FILE]
    return found if len(found) >= MANY else []


def joined(known: OpenTable) -> bool:
    """Join the table's small files if they are many. False: the table has another version, and nothing is changed.

    Readers of the table's changes see none.
    """
    small = small_files(known.present.values())
    if not small:
        return True
    if not known.is_newest():
        return False
    adds = [file.add for file in small]
    new = known.files.unchanged(_in_arrow(known, adds) or known.files.write_by_job(known.files.rows(adds).coalesce(1)))
    known.commit(known.files.removed_unchanged(adds), known.known(new), "OPTIMIZE", {})
    return True


def _in_arrow(known: OpenTable, adds: Sequence[Any]) -> list[Any]:
    """Write the rows of these files as one. Returns its ``AddFile``; nothing if Arrow cannot, or no row is left."""
    try:
        rows = known.files.read_arrow(adds)
        return [known.files.write_arrow(rows)] if rows is not None and len(rows) else []
    except ValueError:
        # A file is not as Arrow expects it.
        return []
