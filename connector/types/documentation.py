"""Write ``docs/types.md`` from the type table: ``python -m connector.types.documentation > docs/types.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from connector.emulation import DEFAULT, EMULATIONS, Emulation
from connector.record.schema import Schema
from connector.types.codec import Codec, Column, TypeInfo, Types, TypeSettings
from connector.types.registry import resolve
from connector.types.samples import MODES, SECTIONS, TIMES, Sample

_INTRODUCTION: Final = """# Types

How the values of PostgreSQL's types arrive in events. This page is made from the type table in `connector/types`; change that, then run
`python -m connector.types.documentation > docs/types.md`.

- *Setting* is the value of the property that the section names, or the emulated version (`connector.plugin.version`) where the versions
  differ. The default comes first.
- *Schema* is the field's Connect schema: its type, its name, its parameters in parentheses, the fields of a struct in braces. A schema
  with a name has version 1 unless the table says otherwise. Columns that are not NOT NULL have an optional schema. *Or null* says the same
  of items and fields.
- *Value* is what a JsonConverter writes for the example, which stands there as PostgreSQL prints it. It writes bytes in base64. Converters
  for Avro, JSON Schema and Protocol Buffers derive their types from the Connect schema ([transforms.md](transforms.md#converters)).
- [events.md](events.md#the-old-row) says what arrives in place of a large value that did not change.
  [differences.md](differences.md) lists the values that differ from Debezium's.
"""

_NOTES: Final[dict[str, str]] = {
    "Numbers": """The property is `decimal.handling.mode`, by default `precise`.

A `Decimal` is the unscaled integer in two's complement, most significant byte first: `BW4=` is 1390, with scale 2 that is 13.90.
`value.converter.decimal.format=NUMERIC` makes JsonConverter write it as a number. In a `numeric` without a declared precision each value
has its own scale. NaN and the infinities exist in the modes `double` and `string` only. With `precise`, `money` is rounded to
`money.fraction.digits`, by default 2.""",
    "Boolean and bit strings": "`io.debezium.data.Bits` has the least significant byte first, without the high bytes that are zero.",
    "Text": """The property is `hstore.handling.mode`, by default `json`.

A column of type `name` has its value in snapshots only, as with Debezium. In the stream it is null, or the empty string if it is NOT NULL.
With `include.unknown.datatypes=true` the stream has it too.""",
    "Binary data": "The property is `binary.handling.mode`, by default `bytes`.",
    "Dates and times": """The property is `time.precision.mode`, by default `adaptive`; for `interval` it is `interval.handling.mode`,
by default `numeric`. 2.3.4.Final does not know `microseconds`, `nanoseconds` and `isostring`. Only 3.7.0.Final knows `structured`.

| schema name | value |
|---|---|
| `io.debezium.time.Date`, `org.apache.kafka.connect.data.Date` | days since 1970-01-01 |
| `io.debezium.time.Time`, `org.apache.kafka.connect.data.Time` | milliseconds since midnight |
| `io.debezium.time.MicroTime`, `io.debezium.time.NanoTime` | microseconds, nanoseconds since midnight |
| `io.debezium.time.Timestamp`, `org.apache.kafka.connect.data.Timestamp` | milliseconds since 1970-01-01 00:00, without a time zone |
| `io.debezium.time.MicroTimestamp`, `io.debezium.time.NanoTimestamp` | the same in microseconds, in nanoseconds |
| `io.debezium.time.MicroDuration` | microseconds; a month has 365.25 / 12 days |

Values with a time zone are converted to UTC, except by `structured`.""",
    "Ranges": "The value is PostgreSQL's text of the range. Multiranges have [no mapping](#types-without-a-mapping).",
    "Geometric types and PostGIS": """`wkb` is well-known binary. For `geometry` and `geography` it has PostGIS' extended form,
which contains the SRID.""",
    "Vectors": "Items of these arrays are never null.",
}

_OTHERS: Final = """## Enums and domains

The parameter `allowed` of an enum lists its labels; for arrays of a domain over an enum it is empty, as in Debezium 3.7.0. A domain arrives
as its base type, with the innermost declared length or precision."""

_ARRAYS: Final = """## Arrays

An array has the schema of its element type for its items, which may be null. Connect's arrays have one dimension: an array with more
becomes an array of nulls, with the length of its first dimension. A domain over an array arrives as the array. Exceptions:"""

_UNKNOWN: Final = """## Types without a mapping

All other types have no mapping: composite types, multiranges, arrays of domains (except domains over enums), `tsquery`, `pg_lsn`, `xid8`,
types of other extensions. A column of such a type is left out of the events and of their schema.

With `include.unknown.datatypes=true` its field has the bytes of PostgreSQL's text, in the form that `binary.handling.mode` says. This also
holds for types that the emulated version leaves out. An array of such types becomes an array of such fields, which
are never null. A [column converter](extending.md#a-column-converter) of your own can take such a column in either case."""

_VERSIONS: Final = tuple(emulation.version for emulation in EMULATIONS)
_SINCE: Final = {"microseconds": 1, "nanoseconds": 1, "isostring": 1, "structured": 2}
"""The first version, by its place, that has the value of ``time.precision.mode``. All have the others."""
_HEAD: Final = ["| Type | Setting | Schema | Example | Value |", "|---|---|---|---|---|"]
_LEFT_OUT: Final = ("left out", "")


def versions_of(mode: str) -> tuple[Emulation, ...]:
    """Return the emulated versions that know a value of a property in :data:`MODES`."""
    return EMULATIONS[_SINCE.get(mode, 0) :]


def render() -> str:
    """Return the page."""
    lines = [_INTRODUCTION]
    for title, samples in SECTIONS.items():
        lines += [f"## {title}", ""]
        if note := _NOTES.get(title):
            lines += [note, ""]
        lines += [*_HEAD, *(row for sample in samples for row in _rows(sample)), ""]
    lines += [_OTHERS, "", *_HEAD, *_others(), ""]
    lines += [_ARRAYS, "", *_array_exceptions(), "", *_HEAD, *_arrays(), ""]
    lines += [_UNKNOWN, "", *_HEAD, *_unknown()]
    return "\n".join(lines) + "\n"


def _rows(sample: Sample) -> Iterator[str]:
    """One row for each way in which the value can look, the default first."""
    modes = MODES[sample.property] if sample.property else ("",)
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for mode in modes:
        for emulation in sorted(versions_of(mode), key=lambda each: each is not DEFAULT):
            shown = _shown(sample, _settings(sample.property, mode, emulation))
            found.setdefault(shown, {}).setdefault(mode, []).append(emulation.version)
    most = max(found.values(), key=len)
    for shown, ways in found.items():
        if len(found) > 1 and ways is most and len(ways) > 3:
            setting = "any other"
        else:
            setting = ", ".join(_setting(mode, versions) for mode, versions in ways.items())
        yield _row(sample.declared, setting, shown, sample.text)


def _setting(mode: str, versions: list[str]) -> str:
    some = "" if len(versions) == len(versions_of(mode)) else ", ".join(version for version in _VERSIONS if version in versions)
    return some if not mode else f"`{mode}` ({some})" if some else f"`{mode}`"


def _settings(name: str | None, mode: str, emulation: Emulation) -> TypeSettings:
    settings = TypeSettings(emulation=emulation)
    given: dict[str, Any] = {name.replace(".", "_"): mode} if name else {}
    return replace(settings, **given)


def _shown(sample: Sample, settings: TypeSettings) -> tuple[str, str]:
    info = sample.info()
    # The stream has no values of this type, and 2.3.4.Final reads some other types differently in its snapshots.
    codec = resolve(Column("c", info.oid, sample.modifier), {info.oid: info}, settings, streamed=info.name != "name")
    return _described(codec, sample.text)


def _described(codec: Codec | None, text: str) -> tuple[str, str]:
    """The schema and the value in JSON."""
    if codec is None:
        return _LEFT_OUT
    optional = ", optional even if NOT NULL" if codec.schema.optional else ""
    return _schema(codec.schema) + optional, f"`{_code(codec.encode(text.encode()).decode())}`"


def _schema(schema: Schema) -> str:
    if schema.items is not None:
        words = [f"array of {_item(schema.items)}"]
    elif schema.keys is not None and schema.values is not None:
        words = [f"map of {_schema(schema.keys)} to {_item(schema.values)}"]
    else:
        words = [schema.type]
    if schema.name:
        words.append(f"`{schema.name}`" + ("" if schema.version == 1 else f" version {schema.version}"))
    if schema.parameters:
        words.append("(" + ", ".join(f"{name}={_code(value)}" for name, value in schema.parameters) + ")")
    if schema.fields:
        words.append("{" + ", ".join(f"`{field.name}` {_item(field.schema)}" for field in schema.fields) + "}")
    return " ".join(words)


def _item(schema: Schema) -> str:
    return _schema(schema) + (" or null" if schema.optional else "")


def _row(declared: str, setting: str, shown: tuple[str, str], text: str) -> str:
    schema, value = shown
    example = f"`{_code(text)}`" if len(text) == len(text.rstrip()) else f"`{_code(text.rstrip())}` and blanks"
    return f"| {_code(declared)} | {setting} | {schema} | {example} | {value} |"


def _catalog(sample: Sample) -> tuple[Types, TypeInfo]:
    element = sample.info()
    array = TypeInfo(2, f"_{sample.name}", element.schema, category="A", element=element.oid)
    return {element.oid: element, array.oid: array}, array


def _others() -> Iterator[str]:
    labels = ("new", "paid", "sent")
    enum = TypeInfo(1, "status", "public", kind="e", labels=labels)
    number = TypeInfo(2, "numeric", "pg_catalog")
    price = TypeInfo(3, "price", "public", kind="d", base=2, base_modifier=(8 << 16 | 2) + 4)
    state = TypeInfo(4, "state", "public", kind="d", base=1)
    types = {info.oid: info for info in (enum, number, price, state)}
    for declared, info, text in (
        (f"status, an enum of {', '.join(labels)}", enum, "paid"),
        ("price, a domain over numeric(8,2)", price, "13.90"),
        ("state, a domain over status", state, "paid"),
    ):
        yield _row(declared, "", _described(resolve(Column("c", info.oid), types, TypeSettings()), text), text)


def _all_samples() -> Iterable[Sample]:
    """One sample for each type."""
    return {sample.name: sample for samples in SECTIONS.values() for sample in samples}.values()


def _array_exceptions() -> Iterator[str]:
    left_out, required, refused = [], ["enums"], []
    for sample in _all_samples():
        types, array = _catalog(sample)
        codec = resolve(Column("c", array.oid, sample.modifier), types, TypeSettings(emulation=EMULATIONS[-1]))
        if codec is None:
            left_out.append(f"`{sample.name}`")
        elif codec.schema.items is None:
            refused.append(f"`{sample.name}`")
        elif not codec.schema.items.optional:
            required.append(f"`{sample.name}`")
    yield f"- Left out, also with `include.unknown.datatypes=true`: arrays of {', '.join(left_out)}."
    yield f"- Items that cannot be null: those of arrays of {', '.join(required)}. A sub-array is sent as its text."
    yield f"- Arrays of {', '.join(refused)} have the schema of a single value, as with Debezium. No array can be converted to it."
    yield f"- With `{TIMES}=connect`, 2.3.4.Final cannot convert arrays of `time`."


def _arrays() -> Iterator[str]:
    samples = {sample.declared: sample for samples in SECTIONS.values() for sample in samples}
    for declared, text in (
        ("integer", "{1,NULL,3}"),
        ("integer", "{{1,2},{3,4}}"),
        ("text", '{blue,"a mug"}'),
        ("numeric(5,2)", "{13.90}"),
        ("date", "{2026-02-01}"),
        ("boolean", "{t,f}"),
    ):
        types, array = _catalog(samples[declared])
        column = Column("c", array.oid, samples[declared].modifier)
        yield _row(f"{declared}[]", "", _described(resolve(column, types, TypeSettings()), text), text)


def _unknown() -> Iterator[str]:
    for name, kind, text in (("tsquery", "b", "'blue' & 'mug'"), ("int4multirange", "m", "{[1,3),[5,7)}")):
        info = TypeInfo(1, name, "pg_catalog", kind=kind)
        column, types = Column("c", info.oid), {info.oid: info}
        included = TypeSettings(include_unknown_datatypes=True)
        yield _row(name, "", _described(resolve(column, types, TypeSettings()), text), text)
        yield _row(name, "`include.unknown.datatypes=true`", _described(resolve(column, types, included), text), text)
        as_text = replace(included, binary_handling_mode="hex")
        yield _row(name, "the same, `binary.handling.mode=hex`", _described(resolve(column, types, as_text), text), text)


def _code(text: str) -> str:
    """Escape what would end a table's cell, even between backticks."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(render())
