"""Checks the named types of an Avro schema: Avro must accept each name, and each name must have one definition.

A schema's text has a reference to the first definition in place of a second one. Values that are written by a different second definition
cannot be read again. A Connect schema may have two structs of one name.
"""

from __future__ import annotations

from typing import Final

from connector.converters.avro.avro_schema import NAMED, AvroSchema
from connector.record.connect_record import DataError

_BMP: Final = 0x10000
"""Java checks each half of a surrogate pair, and no half is a letter: letters from here on are refused."""


def check_definitions(schema: AvroSchema) -> None:
    """Check all named types of a schema. Raises DataError."""
    _check(schema, {})


def _check(schema: AvroSchema, met: dict[str, AvroSchema]) -> None:
    if schema.type in NAMED:
        known = met.get(schema.full_name)
        if known is not None:
            if not same_form(known, schema):
                raise DataError(
                    f"Two types with the name {known.full_name} have different forms, and an Avro schema can define a name only once. "
                    "Give one of them another name"
                )
            return
        met[schema.full_name] = schema
        _check_names(schema)
    for part in _parts(schema):
        _check(part, met)


def _parts(schema: AvroSchema) -> tuple[AvroSchema, ...]:
    items = () if schema.items is None else (schema.items,)
    return (*(field.schema for field in schema.fields), *schema.branches, *items)


def same_form(one: AvroSchema, other: AvroSchema) -> bool:
    """Whether a value that is written with one schema is the same when it is read with the other. Fields must have the same names."""
    return _same_form(one, other, set())


def _same_form(one: AvroSchema, other: AvroSchema, compared: set[tuple[int, int]]) -> bool:
    if one is other or (id(one), id(other)) in compared:
        return True
    if (one.type, one.symbols, one.size) != (other.type, other.symbols, other.size):
        return False
    if any(one.props.get(name) != other.props.get(name) for name in ("logicalType", "scale")):
        return False
    parts, others = _parts(one), _parts(other)
    if len(parts) != len(others) or [field.name for field in one.fields] != [field.name for field in other.fields]:
        return False
    # One pair that differs decides for all, so a pair that was met before needs no second comparison.
    compared.add((id(one), id(other)))
    return all(_same_form(*pair, compared) for pair in zip(parts, others, strict=True))


def _check_names(schema: AvroSchema) -> None:
    for what, name in (
        (schema.type, schema.name or ""),
        *(("field", field.name) for field in schema.fields),
        *(("symbol", symbol) for symbol in schema.symbols),
    ):
        if not _is_name(name):
            raise DataError(
                f"Illegal character in the name of the {what} {name}: Avro takes letters, digits and underscores, and no digit at the "
                "beginning. Set scrub.invalid.names=true for Confluent's converter, or for the connector field.name.adjustment.mode=avro "
                "and schema.name.adjustment.mode=avro"
            )


def _is_name(text: str) -> bool:
    """Whether Avro's Java library takes the name: it allows all letters and digits of Unicode's first plane."""
    if not text or text[0].isdecimal():
        return False
    return all(letter == "_" or ((letter.isalpha() or letter.isdecimal()) and ord(letter) < _BMP) for letter in text)
