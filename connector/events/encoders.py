"""Compiled encoders: one Python function for each captured table that turns the texts of a row into the event's JSON.

The generated source joins fragments that the type table provides for the columns. It makes no dict of the row and does not call
``json.dumps`` for the event. The constant schema is written once. Bursts are encoded column by column, single rows cell by cell. The
generic path (:mod:`connector.record.json_converter` over decoded values) must give the same bytes; a property test compares all three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar, cast

from connector.catalog.table import CatalogTable
from connector.delivery.row_run import RowColumn
from connector.errors import CdcError, ErrorKind
from connector.events.envelope import DEFAULT_FORM, EventForm
from connector.events.masks import Mask
from connector.log import EventLog
from connector.record.generated import Generated, define
from connector.record.json_converter import ConverterSettings, quote, schema_json, value_encoder
from connector.record.schema import NO_DEFAULT, Field, Schema
from connector.record.values import text_of
from connector.types.codec import Codec
from connector.types.columns import column_encoder
from connector.types.registry import INLINE_NAMES
from connector.types.text import encode_plain, encode_text
from connector.wire.pgoutput import UNCHANGED

LOG: Final = EventLog(__name__)

T = TypeVar("T")
RowFunction = Callable[[Sequence[bytes | None]], bytes]
HEAD: Final = b'{"before":null,"after":'
"""The beginning of an event without an old row."""


@dataclass(frozen=True, slots=True)
class EventColumn:
    """A column in events: its place in the row, its codec, and its final schema."""

    name: str
    index: int
    codec: Codec
    schema: Schema
    not_null: bool = False
    """Whether the table declares NOT NULL. A PostGIS column's schema is optional nevertheless."""
    mask: Mask | None = None
    """The mask that ``codec`` applies to values. It also applies to the default that replaces a NULL."""


@dataclass(frozen=True, slots=True)
class ConversionFailure:
    """A value that could not be converted. ``reason`` does not quote the value."""

    column: str
    reason: str
    needed: bool = False
    """Whether the event cannot be made without the value: the column is NOT NULL and its schema has no default."""

    def error(self, table: str, mode: str) -> CdcError | None:
        """Return the failure of the event of a row of ``table``; None if null or a default is sent in place of the value.

        ``mode`` is ``event.converting.failure.handling.mode``.
        """
        if mode == "fail":
            return CdcError(
                ErrorKind.VALUE,
                f"A value of column {self.column} of table {table} cannot be converted: {self.reason}",
                "Set event.converting.failure.handling.mode to warn to send null in its place",
            )
        if self.needed:
            return CdcError(
                ErrorKind.VALUE,
                f"Column {self.column} of table {table} needs a value, and a value of it cannot be converted: {self.reason}",
                "Exclude the column with column.exclude.list, or set event.processing.failure.handling.mode to warn"
                " to leave such events out",
            )
        return None


class TableEncoder:
    """The compiled functions of one table with fixed columns. Immutable; a changed relation gets a new encoder."""

    __slots__ = (
        "_columns",
        "_key_columns",
        "_key_schema",
        "_open_rows",
        "_settings",
        "closing",
        "created",
        "has_key",
        "key",
        "key_at",
        "keys",
        "prefix",
        "row",
        "row_with_unchanged",
        "snapshot",
        "table",
        "topic",
    )

    def __init__(
        self,
        table: CatalogTable,
        topic: str,
        columns: Sequence[EventColumn],
        key_columns: Sequence[EventColumn],
        key_settings: ConverterSettings,
        value_settings: ConverterSettings,
        form: EventForm = DEFAULT_FORM,
        namespace: str | None = None,
    ) -> None:
        self.table = table
        self.topic = topic
        self._columns = tuple(_with_null(table.name, column, value_settings) for column in columns)
        self._key_columns = tuple(_with_null(table.name, column, key_settings) for column in key_columns)
        self._settings = value_settings
        width = len(table.columns)
        # The topic gives the schemas their names, in characters that schema.name.adjustment.mode allows.
        named = topic if namespace is None else namespace
        row_schema = Schema("struct", name=f"{named}.Value", fields=tuple(Field(c.name, c.schema) for c in columns))
        if value_settings.schemas_enable:
            self.prefix = b'{"schema":' + schema_json(form.envelope(named, row_schema), None, value_settings) + b',"payload":'
            self.closing = b"}"
        else:
            self.prefix = self.closing = b""
        self.has_key = bool(key_columns)
        self.key_at = tuple(column.index for column in key_columns)
        """Places of the key's columns in a row."""
        name = table.name
        self.row: RowFunction = _compile(f"row {name}", self._columns, width, value_settings)
        self.row_with_unchanged: RowFunction = _compile(f"row with unchanged {name}", self._columns, width, value_settings, unchanged=name)
        self._key_schema = key_schema = Schema("struct", name=f"{named}.Key", fields=tuple(Field(c.name, c.schema) for c in key_columns))
        before, after = b"", b""
        if key_settings.schemas_enable:
            before, after = b'{"schema":' + schema_json(key_schema, None, key_settings) + b',"payload":', b"}"
        self.key: RowFunction = _compile(f"key {name}", self._key_columns, width, key_settings, unchanged=name, before=before, after=after)
        self.keys = _compile_rows(f"keys {name}", self._key_columns, key_settings, before=before, closing=b"}" + after, extra=0)
        """``keys(columns, nulls)`` returns the keys of a burst. The result is meaningless for a table without a key."""
        self.created = _compile_rows(f"created {name}", self._columns, value_settings, before=HEAD, extra=6)
        """``created(columns, nulls, head, lsn, middle, lsn, tail, end)`` returns payloads of events without an old row (see SourceText)."""
        self.snapshot = _compile_rows(f"snapshot {name}", self._columns, value_settings, before=HEAD, extra=1)
        """``snapshot(columns, nulls, tails)`` returns the same payloads; a tail is all that follows the row."""
        self._open_rows: Callable[..., list[bytes]] | None = None

    @property
    def open_rows(self) -> Callable[..., list[bytes]]:
        """``open_rows(columns, nulls, tails)`` returns the rows alone, each with its tail in place of the closing brace."""
        if self._open_rows is None:
            title = f"open rows {self.table.name}"
            self._open_rows = _compile_rows(title, self._columns, self._settings, before=b"", closing=b"", extra=1)
        return self._open_rows

    @property
    def row_columns(self) -> list[RowColumn]:
        """The columns of a row, for what writes it without its JSON."""
        return _row_columns(self._columns)

    @property
    def key_columns(self) -> list[RowColumn]:
        """The columns of a key."""
        return _row_columns(self._key_columns)

    @property
    def columns(self) -> tuple[EventColumn, ...]:
        """The columns of events, in their order."""
        return self._columns

    def key_text(self, cells: Sequence[bytes | None]) -> bytes:
        """Return the key as Connect's SimpleHeaderConverter writes it. This looks like JSON, but need not be.

        Raises ValueError, and CdcError(VALUE) if a needed value was not sent.
        """
        values = {column.name: _value(self.table.name, column, cells[column.index]) for column in self._key_columns}
        return str(text_of(self._key_schema, values)).encode()

    def unchanged(self, old: Sequence[bytes | None], new: Sequence[bytes | None], before: bytes, after: bytes) -> bool:
        """Return whether an update changed no column of the event: the JSON of both rows is equal, and no column changed to or from NULL.

        ``before`` and ``after`` are the JSON of the cells ``old`` and ``new``. In JSON, a NULL may look like the default.
        """
        return before == after and all(
            (old[column.index] is None) == (new[column.index] is None)
            for column in self._columns
            if column.mask is None or column.mask.constant is None
        )

    def tolerant(self, cells: Sequence[bytes | None]) -> tuple[bytes, list[ConversionFailure]]:
        """Return the row with null or a default in place of every value that cannot be converted, and the failures.

        Raises CdcError(VALUE) if a needed value was not sent. A row must not be sent if :meth:`ConversionFailure.error` returns a failure.
        """
        parts: list[bytes] = []
        failures: list[ConversionFailure] = []
        for column in self._columns:
            cell = cells[column.index]
            if column.codec.cell_value is not None:
                text = self._converted(column, cell, failures)
                parts.append(quote(column.name) + b":" + text)
                continue
            null, fallback, placeholder = _constants(column, self._settings)
            if cell is None:
                text = null
            elif cell is UNCHANGED:
                text = _unsent(self.table.name, column.name) if placeholder is None else placeholder
            else:
                try:
                    text = column.codec.encode(cell)
                except ValueError as error:
                    failures.append(ConversionFailure(column.name, str(error), _is_needed(column)))
                    text = fallback if column.not_null else null
            parts.append(quote(column.name) + b":" + text)
        return b"{" + b",".join(parts) + b"}", failures

    def _converted(self, column: EventColumn, cell: bytes | None, failures: list[ConversionFailure]) -> bytes:
        """Return a cell as its custom converter writes it, or as null if that fails.

        As recorded, null is not replaced by a zero, which exists only for built-in types.
        """
        try:
            return _cell_writer(column, self._settings)(cell)
        except ValueError as error:
            failures.append(ConversionFailure(column.name, str(error)))
        try:
            return value_encoder(column.schema, self._settings)(None)
        except ValueError:
            raise CdcError(
                ErrorKind.VALUE,
                f"Column {column.name} of table {self.table.name} needs a value, and its converter has none: {failures[-1].reason}",
                "Return a value from the converter (also for a NULL and for a value that was not sent), or register an optional schema;"
                " event.processing.failure.handling.mode=warn leaves such events of the stream out",
            ) from None


def _with_null(table: str, column: EventColumn, settings: ConverterSettings) -> EventColumn:
    """Return the column with null in place of values that cannot be converted, if its codec is lenient and it is optional.

    As in Debezium this is no failure, neither of the row nor of its key.
    """
    codec = column.codec
    if not codec.lenient or column.not_null:
        return column

    def lenient(convert: Callable[[bytes], T], null: T) -> Callable[[bytes], T]:
        def attempt(cell: bytes) -> T:
            try:
                return convert(cell)
            except ValueError as error:
                LOG.warning("value sent as null", table=table, column=column.name, reason=str(error))
                return null

        return attempt

    encode = lenient(codec.encode, value_encoder(column.schema, settings)(None))
    return replace(column, codec=replace(codec, encode=encode, decode=lenient(codec.decode, None)))


def _in_place_of_null(column: EventColumn) -> tuple[object, object]:
    """Return the Connect value that stands for a NULL, and the fallback. See :func:`_constants`."""
    schema, codec, mask = column.schema, column.codec, column.mask
    has_default = schema.default is not NO_DEFAULT and schema.default is not None
    fallback = codec.fallback if not has_default else schema.default if mask is None else mask.shown(schema.default)
    return fallback if column.not_null or (mask is not None and mask.constant is not None) else None, fallback


def _constants(column: EventColumn, settings: ConverterSettings) -> tuple[bytes, bytes, bytes | None]:
    """Return the JSON of a NULL, of the fallback, and of an unchanged TOAST value; None if no event can hold the last one.

    A NULL in a required column (the ``before`` of a delete under replica identity DEFAULT) becomes the column's default, else the type's
    fallback. In an optional column JsonConverter replaces it with the default (KIP-581). A mask changes a default or fallback that replaces
    a NULL, but not JsonConverter's replacement. Asterisks replace every NULL.
    """
    encode = value_encoder(column.schema, settings)
    null, fallback = map(encode, _in_place_of_null(column))
    codec = column.codec
    if codec.unavailable is not None or codec.schema.optional:
        # As recorded, an unchanged geometry is null even in a NOT NULL column.
        return null, fallback, encode(codec.unavailable)
    # As recorded, a default is sent in place of such a value; a zero would look like the value that the row has.
    return null, fallback, None if _is_needed(column) else null


def _value(table: str, column: EventColumn, cell: bytes | None) -> object:
    """Return the Connect value of a cell."""
    codec = column.codec
    if codec.cell_value is not None:
        return codec.cell_value(cell)
    if cell is UNCHANGED:
        if codec.unavailable is not None or codec.schema.optional:
            return codec.unavailable
        if _is_needed(column):
            _unsent(table, column.name)
    return _in_place_of_null(column)[0] if cell is None or cell is UNCHANGED else codec.decode(cell)


def _is_needed(column: EventColumn) -> bool:
    """Return whether no event can be made without a value of the column: nothing may stand in its place."""
    return column.not_null and not column.schema.optional and column.schema.default in (NO_DEFAULT, None)


def _unsent(table: str, column: str) -> bytes:
    """Raise the failure of an event that needs a value which the server did not send."""
    raise CdcError(
        ErrorKind.VALUE,
        f"Column {column} of table {table} needs a value, and the server did not send it, because the update did not change it (TOAST)",
        "Set REPLICA IDENTITY FULL for the table, or let a ReselectColumnsPostProcessor read the column again;"
        " event.processing.failure.handling.mode=warn leaves such events out",
    )


def _row_columns(columns: Sequence[EventColumn]) -> list[RowColumn]:
    return [RowColumn(column.name, column.index, column.codec, _in_place_of_null(column)[0]) for column in columns]


def _cell_writer(column: EventColumn, settings: ConverterSettings) -> Callable[[bytes | None], bytes]:
    """Return the function that writes every cell of a column with a custom converter."""
    value, write = cast("Callable[[bytes | None], object]", column.codec.cell_value), value_encoder(column.schema, settings)
    return lambda cell: write(value(cell))


def _compile(
    title: str,
    columns: Sequence[EventColumn],
    width: int,
    settings: ConverterSettings,
    *,
    unchanged: str | None = None,
    before: bytes = b"",
    after: bytes = b"",
) -> RowFunction:
    """Define ``row(cells)``, which returns ``before{...}after``. ``title`` is the function's name in tracebacks and profiles.

    With ``unchanged``, the table's name, it handles missing TOAST values. It raises CdcError(VALUE) where the event needs the value.
    """
    return cast(RowFunction, define(title, "row", lambda: _row_source(columns, width, settings, unchanged, before, after)))


def _row_source(
    columns: Sequence[EventColumn], width: int, settings: ConverterSettings, unchanged: str | None, before: bytes, after: bytes
) -> Generated:
    names: dict[str, object] = dict(INLINE_NAMES)
    names["UNCHANGED"], names["unsent"] = UNCHANGED, _unsent
    parts: list[str] = []
    for number, (column, literal) in enumerate(zip(columns, _literals(columns, before), strict=True)):
        cell = f"c{column.index}"
        if column.codec.cell_value is not None:
            names[f"e{number}"] = _cell_writer(column, settings)
            parts.append(f"{literal!r}, e{number}({cell}),")
            continue
        null, _fallback, placeholder = _constants(column, settings)
        if column.codec.inline is None:
            names[f"e{number}"] = column.codec.encode
            convert = f"e{number}({cell})"
        else:
            convert = column.codec.inline.replace("{c}", cell)
        convert = f"{null!r} if {cell} is None else {convert}"
        if unchanged is not None:
            missing = f"unsent({unchanged!r}, {column.name!r})" if placeholder is None else repr(placeholder)
            convert = f"{missing} if {cell} is UNCHANGED else {convert}"
        parts.append(f"{literal!r}, ({convert}),")
    closing = b"}" + after
    if not columns:
        closing = before + b"{" + closing
    unpack = "".join(f"c{index}, " for index in range(width))
    lines = ["def row(cells):"]
    if width:
        lines.append(f"    {unpack}= cells")
    # Each column has its own line, so that a traceback shows the column that failed.
    lines += ["    return b''.join((", *(f"        {part}" for part in parts), f"        {closing!r},", "    ))"]
    return lines, names


def _compile_rows(
    title: str, columns: Sequence[EventColumn], settings: ConverterSettings, *, before: bytes, closing: bytes = b"}", extra: int
) -> Callable[..., list[bytes]]:
    """Define ``rows(columns, nulls, x0, …)``, which encodes a burst column by column.

    ``columns`` are the burst's columns without unchanged values. ``nulls`` says whether there are NULLs among them. Each row is followed by
    its item of each of the ``extra`` iterables. Measured for ten columns: 1.7 µs for each row, against 2.8 µs one by one.
    """
    if not columns and not extra:
        return lambda _columns, _nulls: []
    defined = define(title, "rows", lambda: _rows_source(columns, settings, before, closing, extra))
    return cast(Callable[..., list[bytes]], defined)


def _rows_source(columns: Sequence[EventColumn], settings: ConverterSettings, before: bytes, closing: bytes, extra: int) -> Generated:
    names: dict[str, object] = dict(INLINE_NAMES)
    lines: list[str] = []
    parts: list[str] = []
    for number, (column, literal) in enumerate(zip(columns, _literals(columns, before), strict=True)):
        parts.append(repr(literal))
        parts.append(f"v{number}")
        if column.codec.cell_value is not None:
            names[f"e{number}"] = _cell_writer(column, settings)
            lines.append(f"    v{number} = map(e{number}, columns[{column.index}])")
            continue
        null, _fallback, _placeholder = _constants(column, settings)
        lines.append(f"    v{number} = columns[{column.index}]")
        inline = column.codec.inline
        whole = inline is None or column.codec.encode in (encode_text, encode_plain)
        if whole:
            names[f"a{number}"] = column_encoder(column.codec)
            names[f"e{number}"] = column.codec.encode
            one, many = f"e{number}(v)", f"a{number}(v{number})"
        else:
            one = str(inline).replace("{c}", "v")
            many = "" if one == "v" else f"[{one} for v in v{number}]"
        lines.append(f"    if nulls and None in v{number}:")
        lines.append(f"        v{number} = [{null!r} if v is None else {one} for v in v{number}]")
        if many:
            lines += ["    else:", f"        v{number} = {many}"]
    if not columns:
        closing = before + b"{" + closing
    parts.append(repr(closing))
    parts += [f"x{number}" for number in range(extra)]
    arguments = "".join(f", x{number}" for number in range(extra))
    targets = "".join(f"v{number}, " for number in range(len(columns))) + "".join(f"x{number}, " for number in range(extra))
    joined = f"    return [join(({''.join(part + ', ' for part in parts)})) for {targets}in zip({targets})]"
    names["join"] = b"".join
    return [f"def rows(columns, nulls{arguments}):", *lines, joined], names


def _literals(columns: Sequence[EventColumn], before: bytes) -> list[bytes]:
    """Return the constant text before each column's value."""
    return [(b"," if number else before + b"{") + quote(column.name) + b":" for number, column in enumerate(columns)]
