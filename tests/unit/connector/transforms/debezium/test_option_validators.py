from __future__ import annotations

import pytest

from connector.transforms.debezium.new_record_state.extract_new_record_state_keys import KEYS

[MODE] = [key for key in KEYS if key.name == "delete.tombstone.handling.mode"]


@pytest.mark.parametrize("value", ["drop", "Rewrite", "rewrite-with-tombstone"])
def test_takes_a_mode_in_any_case(value: str) -> None:
    assert [line for check in MODE.validators for line in check(MODE, value, {})] == []


@pytest.mark.parametrize("value", ["xxx", ""])
def test_refuses_another_word_as_the_reference_does(value: str) -> None:
    words = "drop, tombstone, rewrite-with-tombstone, rewrite, delete-to-tombstone"
    expected = f"Invalid value {value} for configuration delete.tombstone.handling.mode: Value must be one of {words}"
    assert [line for check in MODE.validators for line in check(MODE, value, {})] == [expected]
