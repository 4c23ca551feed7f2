"""The codecs of columns that a user's converter has registered (``converters``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from connector.catalog.table import CatalogTable
from connector.config.packed import NamedConverter
from connector.emulation import Emulation
from connector.errors import CdcError, ErrorKind
from connector.events.column_converter import PLACEHOLDER, ColumnConverter, ConvertibleColumn, Registration
from connector.plugins.allowed import AllowedPlugins
from connector.plugins.loading import load
from connector.plugins.user_code import described, let_operator_through
from connector.record.json_converter import value_encoder
from connector.record.schema import DECIMAL, NO_DEFAULT, Schema
from connector.types.codec import Codec, Column, Types, TypeSettings
from connector.types.defaults import default_text
from connector.types.driver_names import source_type
from connector.types.registry import base_type
from connector.wire.pgoutput import UNCHANGED

Fits = Callable[[object], bool]
"""Whether a Connect value fits a schema. It is not called with null."""

_INTEGERS: Final = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_WHOLE: Final = 2**53
"""A float64 holds every integer up to this one."""


class ConvertedColumns:
    """The converters of one connector, in their order.

    Raises CdcError(CONFIG_INVALID) for a converter that is not ``allowed`` or cannot be loaded.
    """

    def __init__(self, named: Sequence[NamedConverter], allowed: AllowedPlugins) -> None:
        self._converters = [(entry.name, _configured(entry, allowed)) for entry in named]

    def codec(self, table: CatalogTable, column: Column, types: Types, settings: TypeSettings, base: Codec | None) -> Codec | None:
        """Return the codec of a column that a converter takes, with its complete schema; None if no converter takes the column.

        ``base`` is the codec that the column has without converters. Raises CdcError(CONFIG_INVALID) if a converter fails or registers an
        unusable schema, value or function.
        """
        if not self._converters:
            return None
        default = None if base is None else default_text(column, base, types, settings)
        seen = _seen(table, column, types, settings.emulation, default)
        for name, converter in self._converters:
            try:
                registration = converter.converter_for(seen)
            except BaseException as error:
                let_operator_through(error)
                raise _failed(name, seen, "failed to look at", error) from error
            if registration is None:
                continue
            if not isinstance(registration, Registration):
                raise _failed(name, seen, f"gave a {type(registration).__name__} in place of a Registration for")
            try:
                return _codec(name, seen, registration, settings.unavailable_value_placeholder)
            except CdcError:
                raise
            except BaseException as error:
                let_operator_through(error)
                raise _failed(name, seen, "registered an unusable schema or function for", error) from error
        return None


def _configured(entry: NamedConverter, allowed: AllowedPlugins) -> ColumnConverter:
    # mypy refuses an abstract class here; the class that the configuration names is concrete.
    converter = load("converters", entry.type, ColumnConverter, setting=f"{entry.name}.type", allowed=allowed)  # type: ignore[type-abstract]
    try:
        converter.configure(entry.properties)
    except BaseException as error:
        let_operator_through(error)
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Converter {entry.name} does not accept its properties {entry.name}.*",
            "Correct them",
            described(error),
        ) from error
    return converter


def _seen(table: CatalogTable, column: Column, types: Types, emulation: Emulation, default: str | None) -> ConvertibleColumn:
    # Describe the type as the stream does, in snapshots too: a converter must get the same description in both.
    source = source_type(column, types, emulation, streamed=True)
    base, _modifier = base_type(column, types)
    return ConvertibleColumn(
        table.name,
        column.name,
        source.name,
        source.name if base is None else base.name,
        source.length,
        source.scale,
        not column.not_null,
        default,
    )


def _codec(name: str, column: ConvertibleColumn, registration: Registration, placeholder: str) -> Codec:
    schema = registration.schema.as_optional(registration.schema.optional or column.optional)
    try:
        fits = _fits(schema)
        value_encoder(schema)
    except (ValueError, AttributeError) as error:
        raise _failed(name, column, "registered a schema that Kafka Connect does not have for", error) from error
    convert = _checked(name, registration.convert, fits)
    if column.default is not None:
        try:
            default = convert(column.default)
        except ValueError as error:
            raise _failed(name, column, "cannot convert the default of", error) from error
        if default is not None:
            schema = schema.with_default(default)
        elif not schema.optional:
            raise _failed(name, column, "gives null for the default of the required")
    unavailable = registration.unavailable
    if unavailable is PLACEHOLDER:
        unavailable = placeholder if schema.type == "string" else None
    elif unavailable is not None and not fits(unavailable):
        raise _failed(name, column, "registered an unavailable value that does not fit the schema of")

    def cell_value(cell: bytes | None) -> object:
        if cell is UNCHANGED:
            return unavailable
        return convert(None if cell is None else cell.decode())

    write = value_encoder(schema)

    def encode(cell: bytes | None) -> bytes:
        value = cell_value(cell)
        try:
            return write(value)
        except BaseException as error:  # noqa: BLE001 (a user's class may raise anything)
            let_operator_through(error)
            raise ValueError(f"converter {name} gave a value that cannot be written: {_where(error)}") from None

    return Codec(
        schema=schema,
        encode=encode,
        decode=cell_value,
        fallback=None,
        unavailable=unavailable,
        cell_value=cell_value,
    )


def _checked(name: str, convert: Callable[[str | None], object], fits: Fits) -> Callable[[str | None], object]:
    """Return ``convert`` with every failure turned into ValueError. The error does not quote the exception, which may hold the value."""

    def checked(text: str | None) -> object:
        try:
            value = convert(text)
            # The check may run a user's code: the value may be of the user's class.
            fitting = value is None or fits(value)
        except BaseException as error:  # noqa: BLE001 (a user's class may raise anything)
            let_operator_through(error)
            raise ValueError(f"converter {name} raised {_where(error)}") from None
        if not fitting:
            raise ValueError(f"converter {name} gave a {type(value).__name__}, which does not fit the schema it registered")
        return value

    return checked


def _where(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" at {trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
    return f"{type(error).__name__}{place}"


def _failed(name: str, column: ConvertibleColumn, did: str, error: BaseException | None = None) -> CdcError:
    detail = "" if error is None else described(error)
    return CdcError(
        ErrorKind.CONFIG_INVALID,
        f"Converter {name} {did} column {column.name} of table {column.table}",
        f"Correct the class that {name}.type names, or the properties {name}.*; `understudy docs extending` lists the rules",
        detail,
    )


def _fits(schema: Schema) -> Fits:
    """Return Connect's check of values (``ConnectSchema.validateValue``) for the values that this project uses with ``schema``."""
    bits = _INTEGERS.get(schema.type)
    if bits is not None:
        return lambda value: type(value) is int and -(1 << bits) <= value < 1 << bits
    match schema.type:
        case "boolean":
            return lambda value: isinstance(value, bool)
        case "float" | "double":
            return lambda value: isinstance(value, float) or (type(value) is int and abs(value) <= _WHOLE)
        case "string":
            return _is_text
        case "bytes":
            if schema.name == DECIMAL:
                return lambda value: isinstance(value, Decimal) and value.is_finite()
            return lambda value: isinstance(value, bytes)
        case "array" if schema.items is not None:
            item = _member(schema.items)
            return lambda value: isinstance(value, (list, tuple)) and all(map(item, value))
        case "map" if schema.keys is not None and schema.values is not None:
            key, member = _member(schema.keys), _member(schema.values)
            return lambda value: isinstance(value, Mapping) and all(map(key, value)) and all(map(member, value.values()))
        case "struct":
            fields = {field.name: _member(field.schema) for field in schema.fields}
            return lambda value: (
                isinstance(value, Mapping) and value.keys() <= fields.keys() and all(fit(value.get(name)) for name, fit in fields.items())
            )
        case _:
            raise ValueError(f"Schema of type {schema.type!r} is not one of Kafka Connect's, or lacks the schemas of its members")


def _member(schema: Schema) -> Fits:
    fits = _fits(schema)
    nullable = schema.optional or schema.default not in (NO_DEFAULT, None)
    return lambda value: nullable if value is None else fits(value)


def _is_text(value: object) -> bool:
    # A str may hold a lone surrogate, which UTF-8 cannot encode.
    return isinstance(value, str) and (value.isascii() or value == value.encode("utf-8", "ignore").decode())
