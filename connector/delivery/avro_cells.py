"""Writes the cells of a column in Avro: PostgreSQL's texts to bytes, most of them without a Connect value between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final, NamedTuple, cast

from connector.converters.avro.binary import long, sized
from connector.converters.avro.writer import FAILURES, Write
from connector.delivery.row_run import RowColumn
from connector.record.json_converter import twos_complement
from connector.record.schema import DECIMAL
from connector.types.codec import Codec
from connector.types.columns import column_reader

_KEPT: Final = 16_384
"""How many encoded numbers of a column, or lengths of its texts, are kept."""


class CellWriter(NamedTuple):
    """Writes the cells of one column."""

    cells: Callable[[Sequence[bytes]], Sequence[bytes]]
    """Writes a column without NULLs. Raises ValueError, or what a writer raises (:data:`connector.converters.avro.writer.FAILURES`)."""
    null: bytes | None
    """What is written for NULL; None where it cannot be written."""

    def whole(self, column: Sequence[bytes | None]) -> Sequence[bytes]:
        """Write a column that has no NULL. Raises as :attr:`cells`."""
        return self.cells(cast("Sequence[bytes]", column))

    def column(self, column: Sequence[bytes | None]) -> Sequence[bytes]:
        """Write a column that may have NULLs. Raises as :attr:`cells`."""
        present = [cell for cell in column if cell is not None]
        written = iter(self.cells(present))
        if len(present) == len(column):
            return list(written)
        null = self.null
        if null is None:
            raise ValueError("NULL in a column that needs a value")
        return [null if cell is None else next(written) for cell in column]


def cell_writer(column: RowColumn, write: Write) -> CellWriter:
    """Return what writes the cells of ``column``; ``write`` writes its Connect values, null included."""
    codec = column.codec
    try:
        null = write(column.null)
    except FAILURES:
        null = None
    return CellWriter(_texts(codec, write) or _numbers(codec, write) or _decimals(codec, write) or _values(codec, write), null)


def _values(codec: Codec, write: Write) -> Callable[[Sequence[bytes]], Sequence[bytes]]:
    """By way of the Connect values."""
    read = column_reader(codec)
    return lambda column: list(map(write, read(column)))


class _Leads(dict[int, bytes]):
    """What stands before texts of so many bytes: ``lead`` and the length."""

    def __init__(self, lead: bytes) -> None:
        super().__init__()
        self._lead = lead

    def __missing__(self, size: int) -> bytes:
        found = self._lead + long(size)
        if len(self) < _KEPT:
            self[size] = found
        return found


def _texts(codec: Codec, write: Write) -> Callable[[Sequence[bytes]], Sequence[bytes]] | None:
    """For strings that are the server's texts. 0.1 µs a cell; 0.5 µs by way of values."""
    if codec.decode != bytes.decode:
        return None
    lead = _lead(write, "", b"\0")
    if lead is None or write("é") != lead + "\x04é".encode():
        return None
    leads = _Leads(lead)
    return lambda column: [leads[len(cell)] + cell for cell in column]


class _Numbers(dict[int, bytes]):
    """Encoded numbers after ``lead``; the small ones are kept."""

    def __init__(self, lead: bytes) -> None:
        super().__init__()
        self._lead = lead

    def __missing__(self, value: int) -> bytes:
        found = self._lead + long(value)
        if 0 <= value < _KEPT:
            self[value] = found
        return found


def _numbers(codec: Codec, write: Write) -> Callable[[Sequence[bytes]], Sequence[bytes]] | None:
    """For integers, and times that are."""
    if codec.schema.type not in ("int16", "int32", "int64"):
        return None
    lead = _lead(write, 0, b"\0")
    if lead is None or write(-1) != lead + b"\1":
        return None
    numbers, read = _Numbers(lead), column_reader(codec)

    def cells(column: Sequence[bytes]) -> Sequence[bytes]:
        # A codec may give null, or a number that the type cannot hold: the writer knows what to do.
        values = read(column)
        return [numbers[value] if type(value) is int else write(value) for value in values]

    return cells


def _decimals(codec: Codec, write: Write) -> Callable[[Sequence[bytes]], Sequence[bytes]] | None:
    """For decimals whose texts have all digits of their scale. 0.6 µs a cell; 2 µs by way of values."""
    unscaled = codec.unscaled
    if unscaled is None or codec.schema.name != DECIMAL:
        return None
    scale = int(dict(codec.schema.parameters)["scale"])
    lead = _lead(write, Decimal((0, (0,), -scale)), b"\2\0")
    if lead is None or write(Decimal((1, (1, 2, 9), -scale))) != lead + b"\4\xff\x7f":
        return None
    return lambda column: [lead + sized(twos_complement(unscaled(cell))) for cell in column]


def _lead(write: Write, value: object, written: bytes) -> bytes | None:
    """What comes before ``written``, the encoding of ``value``: the branch of a union, or nothing. None for another encoding."""
    try:
        found = write(value)
    except FAILURES:
        return None
    return found[: -len(written)] if found.endswith(written) else None
