"""Finds the rows of a Delta table that a batch replaces, and marks them, in the driver and without a Spark job.

Only for a table in a local folder, with keys of whole numbers and texts, and for files of few rows; all else is left to
:meth:`workers.spark.sinks.delta.commit.DeltaTableFiles.marked`, which does the same by a job.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from py4j.protocol import Py4JError
from pyroaring import BitMap64

from workers.spark.fallback import Fallbacks
from workers.spark.sinks.delta.changed_rows import ChangedRows
from workers.spark.sinks.delta.commit import Marked, file_name
from workers.spark.sinks.delta.key_search import FoundGroups, KeySearch
from workers.spark.sinks.delta.known_file import KnownFile
from workers.spark.sinks.delta.open_table import OpenTable

FILES: Final = 200
"""The most files in which keys are looked for. With 5,000 keys and two cores a file of 10,000 rows takes about 6 ms."""
ROWS: Final = 10_000_000
"""The most rows whose keys are read.

With 5,000 random keys, on two cores, a million rows take 0.08 to 0.2 s with numbers and 0.2 to 0.4 s with texts of 73 characters; Spark
takes 3 to 6 s. 100,000 rows take 0.02 to 0.08 s, and Spark 1 s. Ten million numbers take 0.6 s. One core does most of the work, while a
cluster has many.
"""
OCTETS: Final = 512 * 1024 * 1024
"""The most bytes of these keys, in Parquet's encoding without compression.

They are not in memory at once: of ten million texts (429 MiB), which take 1.2 s, the process holds 215 MB.
"""
_FAILURES: Final = (pa.ArrowException, OSError, ValueError, IndexError, TypeError, Py4JError)


class MarkedRows:
    """The search for rows of a sink's tables."""

    def __init__(self) -> None:
        self._fallbacks: Final = Fallbacks("The search for rows", "Spark looks for them")

    def found(self, known: OpenTable, candidates: Sequence[KnownFile], changes: ChangedRows) -> list[Marked] | None:
        """Write deletion vectors for the candidates' rows with the keys of the changes. None: they are left to Spark, or it failed."""
        folder = known.files.folder
        if folder is None or not known.key or len(candidates) > FILES:
            return None
        try:
            search = changes.search(known.key)
            return None if search is None else _found(known, folder, candidates, search)
        except UnicodeError:
            # A key is not exactly its text, so that it must stay in Java.
            return None
        except _FAILURES as error:
            self._fallbacks.report(known.table.full_name, error)
            return None


def _found(known: OpenTable, folder: Path, candidates: Sequence[KnownFile], search: KeySearch) -> list[Marked] | None:
    paths = [str(file.add.path()) for file in candidates]
    if any(urlsplit(path).scheme or path.startswith("/") for path in paths):
        # The files of a shallow clone.
        return None
    places = [folder / unquote(path) for path in paths]
    groups: list[FoundGroups] = []
    rows = octets = 0
    for place in places:
        groups.append(search.groups(place))
        rows += sum(group.rows for group in groups[-1].groups)
        octets += sum(group.octets for group in groups[-1].groups)
        if rows > ROWS or octets > OCTETS:
            return None
    made: list[tuple[KnownFile, BitMap64, int]] = []
    for file, place, found in zip(candidates, places, groups, strict=True):
        matched = BitMap64(search.rows(place, found))
        if not matched:
            continue
        former = known.files.vectors.read(file.add.deletionVector())
        every = former | matched
        if newly := len(every) - len(former):
            made.append((file, every, newly))
    # A file all of whose rows are marked is removed, and needs no vector.
    vectors = iter(known.files.vectors.write([every for file, every, _ in made if len(every) != file.rows]))
    return [
        Marked(file_name(str(file.add.path())), None if len(every) == file.rows else next(vectors), len(every), newly)
        for file, every, newly in made
    ]
