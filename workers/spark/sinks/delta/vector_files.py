"""Reads and writes the files of a Delta table's deletion vectors in the driver, without a Spark job.

Delta's own class describes a vector and names its file, so that only the bytes are written here
(:mod:`workers.spark.sinks.delta.roaring_array`).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pyroaring import BitMap64

from workers.spark.sinks.delta.roaring_array import Part, decoded, encoded, file_of, section, vector_in
from workers.spark.sinks.new_file import create

_INLINE: Final = "i"
"""The storage type of a vector that is in the log itself."""


class VectorFiles:
    """The vectors of the table that ``log``, a ``DeltaLog``, is of. Its folder must be on the local file system."""

    def __init__(self, java: Any, log: Any) -> None:
        self._folder: Final = log.dataPath()
        self._describe: Final = java.org.apache.spark.sql.delta.actions.DeletionVectorDescriptor.onDiskWithRelativePath
        self._number: Final = java.java.util.UUID.fromString
        self._some: Final = java.scala.Some
        self._none: Final = java.scala.Option.empty()

    def read(self, vector: Any) -> BitMap64:
        """The rows that the vector marks, which is a ``DeletionVectorDescriptor``; none if it is None.

        Raises ValueError or OSError if they cannot be read.
        """
        if vector is None:
            return BitMap64()
        if vector.storageType() == _INLINE:
            rows = decoded(bytes(vector.inlineData()))
        else:
            offset = vector.offset()
            part = Part(int(offset.get()) if offset.isDefined() else 1, int(vector.sizeInBytes()))
            place, length = section(part)
            with self._path(vector).open("rb") as file:
                file.seek(place)
                rows = decoded(vector_in(file.read(length), part.size))
        if len(rows) != int(vector.cardinality()):
            raise ValueError("deletion vector has another number of rows")
        return rows

    def write(self, marked: Sequence[BitMap64]) -> list[Any]:
        """Write a vector for each set of rows, all of them to one new file. Returns Delta's descriptors.

        The file is complete when this returns. As with Delta's own writer, ``VACUUM`` removes a file that no commit names. Hadoop's
        checksum (``.crc``) is left out: the format has its own, and Hadoop reads a file without it. Raises OSError if it fails.
        """
        if not marked:
            return []
        for rows in marked:
            # As Delta does: rows that follow each other take less space.
            rows.run_optimize()
        octets, parts = file_of([encoded(rows) for rows in marked])
        number = self._number(str(uuid.uuid4()))
        made = [
            self._describe(number, "", part.size, len(rows), self._some(part.offset), self._none)
            for rows, part in zip(marked, parts, strict=True)
        ]
        create(self._path(made[0]), octets)
        return made

    def _path(self, vector: Any) -> Path:
        """The path of the file that has the vector."""
        place = vector.absolutePath(self._folder).toUri()
        if place.getScheme() not in {None, "file"}:
            raise ValueError("deletion vector is on another file system")
        return Path(str(place.getPath()))
