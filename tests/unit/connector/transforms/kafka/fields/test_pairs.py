"""Pairs of names are split as Java does it: empty parts at the end do not count. Answers of Kafka Connect 4.3."""

from __future__ import annotations

from typing import Any

import pytest

from connector.configdef.options import OptionError, Options
from connector.record.connect_record import ConnectRecord
from connector.transforms.kafka.fields import cast, replace_field
from connector.transforms.transform import Transform, TransformDefinition


def made(definitions: tuple[TransformDefinition, ...], options: dict[str, str]) -> Transform:
    [definition] = [each for each in definitions if each.name.endswith("$Value")]
    return definition.make(Options(definition.keys, options))


def value(step: Transform, given: Any) -> Any:
    record = step.apply(ConnectRecord("t", value=given))
    assert record is not None
    return record.value


@pytest.mark.parametrize("spec", ["id:string", "id:string:", "id : string ::"])
def test_a_cast_may_end_with_colons(spec: str) -> None:
    assert value(made(cast.DEFINITIONS, {"spec": spec}), {"id": 1}) == {"id": "1"}


def test_a_cast_of_the_whole_value_may_end_with_colons() -> None:
    assert value(made(cast.DEFINITIONS, {"spec": "string:"}), 1) == "1"


@pytest.mark.parametrize("spec", ["id::", "::", ":", "a:int8,string:", "string:,a:int8", "a:int8:b"])
def test_other_casts_are_refused(spec: str) -> None:
    with pytest.raises(OptionError):
        made(cast.DEFINITIONS, {"spec": spec})


@pytest.mark.parametrize("renames", ["id:z", "id:z:", "id:z::"])
def test_a_rename_may_end_with_colons(renames: str) -> None:
    assert value(made(replace_field.DEFINITIONS, {"renames": renames}), {"id": 1}) == {"z": 1}


@pytest.mark.parametrize("renames", ["id", "id:", "id::z", "::"])
def test_other_renames_are_refused(renames: str) -> None:
    with pytest.raises(OptionError):
        made(replace_field.DEFINITIONS, {"renames": renames})
