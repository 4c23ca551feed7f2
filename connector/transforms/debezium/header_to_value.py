"""``HeaderToValue``: headers copied or moved into the value (Debezium documentation, "HeaderToValue").

A struct that gets a field is no longer optional. A struct that the event lacks is added: at the top with the first name of the path below
it, further down without fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from connector.configdef.key import UNTIL_2, VERSIONS, Key
from connector.configdef.options import OptionError, Options
from connector.java.splitting import java_list, java_path
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, DECIMAL, NO_DEFAULT, Field, Schema
from connector.record.struct import SchemaCache, get
from connector.transforms.transform import SharesHeaders, TransformDefinition

HEADERS: Final = "headers"
FIELDS: Final = "fields"
OPERATION: Final = "operation"

_LOGICAL: Final = frozenset({DECIMAL, CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP})
_OPERATIONS: Final = ("move", "copy")

Path = tuple[str, ...]
Found = Mapping[Path, Header]
"""The path of a field → the header whose value it gets."""


@dataclass(frozen=True, slots=True)
class HeaderToValue:
    """Adds the values of headers as fields; of several for one field, the first decides its type and the last its value.

    ``moves``: the headers are removed.

    ``unique``: a header that is there twice is an error, as it is in 2.3.
    """

    fields: Mapping[str, Path]
    moves: bool
    unique: bool
    _schemas: SchemaCache[dict[tuple[tuple[Path, Schema | None], ...], Schema]] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options) -> HeaderToValue:
        """Make it of its options."""
        headers, fields = _list(options, HEADERS), _list(options, FIELDS)
        operation = options.written(OPERATION)
        # 2.3 reads capitals when it validates, and then not.
        known = operation if options.emulation.version in UNTIL_2 else operation.strip().lower()
        if known not in _OPERATIONS:
            raise OptionError.of_value(OPERATION, operation, f"Value must be one of {', '.join(_OPERATIONS)}")
        if len(headers) != len(fields):
            raise OptionError("'fields' config must have the same number of elements as 'headers' config.")
        # Of a header that is named twice, the first field counts.
        paths = {name: tuple(java_path(path, ".")) for name, path in reversed(list(zip(headers, fields, strict=True)))}
        kind = cls if known == "move" else _Copying
        return kind({name: paths[name] for name in headers}, known == "move", options.emulation.version in UNTIL_2)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with the fields. Raises DataError for a value that is no struct, and for a field that cannot be added."""
        if record.value is None:
            return record
        schema = record.value_schema
        if schema is None or schema.type != "struct":
            raise DataError("HeaderToValue needs a struct with a schema as the record's value")
        found = self._found(record)
        if not found:
            return record
        made = self._schema(schema, found)
        value = _value(schema, made, record.value, (), found)
        headers = tuple(header for header in record.headers if header.name not in self.fields) if self.moves else record.headers
        return replace(record, value_schema=made, value=value, headers=headers)

    def _found(self, record: ConnectRecord) -> Found:
        """The headers that are there, in their order; in 2.3 in that of the options."""
        named = [header for header in record.headers if header.name in self.fields]
        if self.unique:
            order = list(self.fields)
            named.sort(key=lambda header: order.index(header.name))
            if len({header.name for header in named}) < len(named):
                raise DataError("HeaderToValue finds more than one header of a name")
        found: dict[Path, Header] = {}
        for header in named:
            path = self.fields[header.name]
            first = found.get(path, header)
            if header.value is None and first.schema is not None and not first.schema.optional:
                raise DataError(f"HeaderToValue cannot put null into the required field {'.'.join(path)}")
            if header.value is not None and _kind(first.schema) != _kind(header.schema):
                raise DataError(f"HeaderToValue cannot put two headers of different types into the field {'.'.join(path)}")
            found[path] = Header(header.name, first.schema, header.value)
        return found

    def _schema(self, schema: Schema, found: Found) -> Schema:
        known = self._schemas.get(schema, lambda _schema: {})
        key = tuple((path, header.schema) for path, header in found.items())
        try:
            if key not in known:
                known[key] = _grown(schema, (), found)
        except TypeError:
            # A default that is a list cannot be hashed.
            return _grown(schema, (), found)
        return known[key]


class _Copying(HeaderToValue, SharesHeaders):
    """Leaves the headers as they are."""

    __slots__ = ()


def _below(at: Path, found: Found) -> dict[str, bool]:
    """The names at one level that get something, in order; True for those whose fields get it."""
    return {path[len(at)]: len(path) > len(at) + 1 for path in found if path[: len(at)] == at and len(path) > len(at)}


def _grown(schema: Schema, at: Path, found: Found) -> Schema:
    """The schema of one level with its new fields."""
    below = _below(at, found)
    fields = []
    for member in schema.fields:
        if not below.get(member.name, False):
            fields.append(member)
            continue
        if member.schema.type != "struct":
            raise DataError(f"Field {member.name} of the path {'.'.join((*at, member.name))} is no struct, so that it cannot get fields")
        fields.append(Field(member.name, _grown(member.schema, (*at, member.name), found)))
    known = {member.name for member in schema.fields}
    new = [name for name in below if name not in known]
    if "" in new or any("" in path for path in found):
        raise DataError("HeaderToValue cannot add a field without a name")
    for name in sorted(new, key=lambda name: below[name]):
        if not below[name]:
            fields.append(Field(name, _needed(name, found[(*at, name)])))
        else:
            origins = {} if at else _first(name, found)
            fields.append(
                Field(name, Schema("struct", optional=True, fields=tuple(Field(to, _needed(to, of)) for to, of in origins.items())))
            )
    return replace(schema, fields=tuple(fields), optional=False, default=NO_DEFAULT)


def _first(name: str, found: Found) -> dict[str, Header]:
    """What a new struct at the top gets: each header under the first name below it."""
    return {path[1]: header for path, header in found.items() if path[0] == name}


def _needed(name: str, header: Header) -> Schema:
    if header.schema is None:
        raise DataError(f"HeaderToValue cannot add the field {name}, because its header has no schema")
    return header.schema


def _value(schema: Schema, made: Schema, value: Any, at: Path, found: Found) -> Any:
    if value is None:
        return None
    before = {member.name: member.schema for member in schema.fields}
    below, filled = _below(at, found), {}
    for member in made.fields:
        name = member.name
        if name not in below:
            filled[name] = get(schema, value, name)
        elif not below[name]:
            header = found[(*at, name)]
            _check(member, header)
            filled[name] = header.value
        elif name in before:
            filled[name] = _value(before[name], member.schema, get(schema, value, name), (*at, name), found)
        else:
            filled[name] = {} if at else {to: of.value for to, of in _first(name, found).items()}
    return filled


def _kind(schema: Schema | None) -> object:
    """What Connect compares where it puts a value into a field: names of schemas count only where they decide about the Java class."""
    if schema is None:
        return None
    if schema.name in _LOGICAL:
        return schema.name
    match schema.type:
        case "struct":
            return schema
        case "array":
            return schema.type, _kind(schema.items)
        case "map":
            return schema.type, _kind(schema.keys), _kind(schema.values)
        case _:
            return schema.type


def _check(member: Field, header: Header) -> None:
    if header.value is None:
        if not member.schema.optional:
            raise DataError(f"HeaderToValue cannot put null into the required field {member.name}")
        return
    if _kind(header.schema) != _kind(member.schema):
        raise DataError(f"HeaderToValue cannot put a header into the field {member.name}, which has another type")


def _list(options: Options, name: str) -> Sequence[str]:
    written = options.written(name)
    entries = java_list(written)
    if any(" " in entry for entry in entries):
        raise OptionError.of_value(name, written, "Element(s) containing space not permitted")
    if "" in entries:
        raise OptionError.of_value(name, written, "Empty string element(s) not permitted")
    return entries


KEYS: Final = (
    Key(
        HEADERS,
        "LIST",
        None,
        "HIGH",
        "Header names list",
        "Names of the headers whose values are copied or moved.",
        framework=True,
        fixed_order=1,
    ),
    Key(
        FIELDS,
        "LIST",
        None,
        "HIGH",
        "Field names list",
        "Names of the fields that get them, in the order of the headers; dots lead into structs.",
        framework=True,
        fixed_order=1,
    ),
    Key(
        OPERATION,
        "STRING",
        None,
        "HIGH",
        "Operation: mover or copy",
        "move removes the headers, copy keeps them.",
        framework=True,
        fixed_order=1,
    ),
)
DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.HeaderToValue", KEYS, HeaderToValue.of, VERSIONS, "Copies or moves headers into the value."
    ),
)
