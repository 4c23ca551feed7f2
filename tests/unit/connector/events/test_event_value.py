"""An event's value, read with only its schema, equals PostgreSQL's value."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as tries
from hypothesis import strategies as st

from connector.record.json_converter import schema_json
from connector.types.codec import Codec, Column, TypeSettings
from connector.types.registry import base_type, resolve
from tests.support import event_value, printed_text
from tests.support.column_kinds import COLUMNS, EVERY_MODE, FURTHER, KINDS, Kind
from tests.support.event_value import Json, decoded, parsed
from tests.support.kept_value import UNMAPPED, RefusedError, agree, kept, reported

ALL = [*COLUMNS, *FURTHER]


@cache
def built(kind: Kind, modes: TypeSettings) -> tuple[str, int, Codec, Json]:
    """The base type's name and modifier, the codec, and the schema as a consumer gets it."""
    column = Column("c", kind.oid, kind.modifier)
    codec, (base, modifier) = resolve(column, KINDS, modes), base_type(column, KINDS)
    assert codec is not None
    assert base is not None
    name = kind.name if base.oid == kind.oid else base.name
    return name, modifier, codec, parsed(schema_json(codec.schema))


@pytest.mark.parametrize("kind", ALL, ids=[f"{number} {kind.declared}" for number, kind in enumerate(ALL)])
@tries(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_value_read_by_its_schema_is_the_one_the_server_had(kind: Kind, data: st.DataObject) -> None:
    text = data.draw(kind.texts)
    for mode in EVERY_MODE:
        modes = replace(mode, include_unknown_datatypes=kind.name in UNMAPPED)
        name, modifier, codec, schema = built(kind, modes)
        try:
            wanted = kept(name, modifier, modes, text)
        except RefusedError:
            with pytest.raises(ValueError, match=r"^[A-Z]"):
                codec.encode(text.encode())
            continue
        read = decoded(schema, parsed(codec.encode(text.encode())))
        assert read is not None
        found = reported(name, modifier, modes, read)
        assert agree(name, modifier, modes, found, wanted), (modes, found, wanted)


@pytest.mark.parametrize("module", [event_value, printed_text])
def test_the_reader_knows_nothing_of_the_writer(module: object) -> None:
    tree = ast.parse(Path(str(getattr(module, "__file__", ""))).read_text(encoding="utf-8"))
    imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert imported
    assert not [name for name in imported if name.startswith("connector")]
