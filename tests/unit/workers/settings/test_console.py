"""The settings of the console."""

from __future__ import annotations

import pytest

from connector.errors import CdcError
from workers.settings.console import ConsoleSettings


@pytest.mark.parametrize(("given", "shown"), [({}, None), ({"console.events": "true"}, True), ({"console.events": "false"}, False)])
def test_whether_rows_are_shown_may_be_left_open(given: dict[str, str], shown: bool | None) -> None:
    assert ConsoleSettings.from_properties(given).events is shown


@pytest.mark.parametrize("name", ["PASSWORD", "api_key", "apikey", "user_token", "iban", "card_number"])
def test_secret_columns_are_hidden_by_default(name: str) -> None:
    assert ConsoleSettings.from_properties({}).hidden.search(name)


@pytest.mark.parametrize("name", ["id", "state", "discard", "comment"])
def test_other_columns_are_not(name: str) -> None:
    assert ConsoleSettings.from_properties({}).hidden.search(name) is None


def test_own_names_replace_the_default() -> None:
    hidden = ConsoleSettings.from_properties({"console.hidden.columns": "^note$"}).hidden
    assert (bool(hidden.search("NOTE")), hidden.search("password")) == (True, None)


def test_a_broken_pattern_is_refused_by_name() -> None:
    with pytest.raises(CdcError, match=r"The value of console\.hidden\.columns is not a regular expression \(missing \), "):
        ConsoleSettings.from_properties({"console.hidden.columns": "(a"})
