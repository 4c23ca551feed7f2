"""The reader of the property tests reads what the reference itself sent: it does not merely agree with our own writer."""

from __future__ import annotations

from typing import Any

from connector.types.registry import base_type
from tests.support.each_case import each_case
from tests.support.event_value import decoded, parsed
from tests.support.kept_value import RefusedError, agree, kept, reported
from tests.support.type_catalog import RECORDINGS, TYPES, column, settings


def name(row: dict[str, Any]) -> str:
    return f"{row['type']}({row['modifier']}) {','.join(f'{key}={value}' for key, value in row['settings'].items())}"


@each_case("row", RECORDINGS["values"], ids=name)
def test_recorded_values_read_by_their_schema_are_the_texts_of_the_server(row: dict[str, Any]) -> None:
    modes = settings(row["settings"])
    base, modifier = base_type(column(row["type"], row["modifier"]), TYPES)
    assert base is not None
    kind = f"{base.name[1:]}[]" if base.element and base.name.startswith("_") else base.name
    schema = parsed(row["schema"])
    for text, sent in row["cases"]:
        value = parsed(sent)
        try:
            wanted = kept(kind, modifier, modes, text)
        except RefusedError:
            assert value is None, text
            continue
        read = decoded(schema, value)
        assert read is not None, text
        found = reported(kind, modifier, modes, read)
        assert agree(kind, modifier, modes, found, wanted), (found, wanted, sent)
