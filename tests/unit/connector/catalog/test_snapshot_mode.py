from __future__ import annotations

from itertools import product

import pytest

from connector.catalog.snapshot_mode import SnapshotMode
from connector.errors import CdcError, ErrorKind
from tests.support.each_case import each_case


@pytest.mark.parametrize(
    ("name", "data", "stream", "always", "when_needed"),
    [
        ("always", True, True, True, False),
        ("initial", True, True, False, False),
        ("initial_only", True, False, False, False),
        ("no_data", False, True, False, False),
        ("when_needed", True, True, False, True),
    ],
)
def test_modes(name: str, data: bool, stream: bool, always: bool, when_needed: bool) -> None:
    assert SnapshotMode.of(name) == SnapshotMode(name, data, stream, always, when_needed)


@each_case(("data", "stream", "again"), list(product([False, True], repeat=3)))
def test_configuration_based_mode_has_its_own_flags(data: bool, stream: bool, again: bool) -> None:
    mode = SnapshotMode.of("configuration_based", based_on={"data": data, "stream": stream, "on_data_error": again})
    assert (mode.snapshot_data, mode.stream, mode.when_needed, mode.always) == (data, stream, again, False)


def test_configuration_based_mode_does_nothing_unasked() -> None:
    mode = SnapshotMode.of("configuration_based")
    assert (mode.snapshot_data, mode.stream, mode.when_needed) == (False, False, False)


def test_unknown_mode_is_refused_with_the_choice() -> None:
    with pytest.raises(CdcError) as reported:
        SnapshotMode.of("sometimes")
    assert reported.value.kind is ErrorKind.CONFIG_INVALID
    assert "'sometimes'" in reported.value.message
    for name in ("always", "initial", "initial_only", "no_data", "when_needed", "configuration_based"):
        assert name in reported.value.remedy
