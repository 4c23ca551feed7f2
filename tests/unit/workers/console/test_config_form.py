"""A configuration as a form, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.each_case import each_case
from tests.support.herder_bench import CLASS
from workers.console import config_form
from workers.herder.plugin_config import plugin_config
from workers.telemetry.logging import HIDDEN

KEYS = plugin_config("PostgresConnector", None)
NAMES = [
    "column.mask.hash.SHA-256.with.salt.CzQMA0cB5K==",
    "snapshot.select.statement.overrides.public.my table",
    "a:b",
    "#c",
    "!d",
    "with.salt.back\\slash",
    "two\nlines",
    " lead",
]


def sent_back(config: dict[str, str]) -> dict[str, str]:
    """The configuration of a form that the user sends as it is. Browsers send line breaks as CRLF."""
    fields = [field for group in config_form.groups(KEYS, config, {}) for field in (*group.main, *group.rare)]
    form = {f"{config_form.PREFIX}{field.key.name}": field.value.replace("\r\n", "\n").replace("\n", "\r\n") for field in fields}
    form |= {f"keep.{field.key.name}": "1" for field in fields if field.stored and (field.secret or not field.value)}
    lines = config_form.others(KEYS, config).replace("\n", "\r\n")
    return config_form.submitted({**form, config_form.OTHERS: lines}, config)


@each_case("name", NAMES)
def test_names_of_other_properties_stay(name: str) -> None:
    config = {"name": "a", "connector.class": CLASS, name: "public.users.email"}
    assert sent_back(config) == config


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=9) | st.text(" \t\f\r\n\\=:#!a", max_size=9)


@given(st.dictionaries(TEXT.map("x.".__add__) | TEXT.filter(bool), TEXT))
def test_other_properties_come_back_as_they_were(properties: dict[str, str]) -> None:
    config = {"connector.class": CLASS, **properties, "name": "a"}
    assert sent_back(config) == config


@pytest.mark.parametrize("value", ["SET a TO 1;\nSET b TO 2", "a\r\nb", "\n", "", " a ", "a\rb"])
def test_a_value_with_lines_stays(value: str) -> None:
    config = {"name": "a", "database.initial.statements": value}
    assert sent_back(config) == config


def test_new_lines_are_stored_without_the_carriage_returns_of_the_browser() -> None:
    form = {"p.database.initial.statements": "SET a TO 1;\r\nSET b TO 3"}
    assert config_form.submitted(form, {"database.initial.statements": "SET a TO 1"}) == {
        "database.initial.statements": "SET a TO 1;\nSET b TO 3"
    }


def test_every_password_of_the_table_is_hidden_by_its_name() -> None:
    # The mark of a configuration holds what may be shown.
    passwords = {key.name: "pa55" for key in KEYS if key.type == "PASSWORD"}
    assert passwords
    assert set(config_form.public(passwords).values()) == {HIDDEN}
