"""Which texts keep the value of a reference out, and which sentences stay as they are."""

from __future__ import annotations

import json
from urllib.parse import quote, quote_plus

import pytest

from tests.support.each_case import each_case
from workers.settings.config_providers import Found
from workers.settings.redaction import Hidden

USER = "${env:DB_USER}"
PASSWORD = "${env:DB_PASS}"


def test_a_user_does_not_change_longer_words() -> None:
    hide = Hidden({"database.user": (Found(USER, "postgre"),)})
    assert hide("PostgreSQL refused the role postgre") == f"PostgreSQL refused the role {USER}"
    assert hide('role "postgre", postgre@db and repostgre') == f'role "{USER}", {USER}@db and repostgre'


@pytest.mark.parametrize("name", ["postgres", "debezium", "kafka", "localhost", "user"])
def test_a_name_that_says_nothing_stays(name: str) -> None:
    text = f"PostgreSQL: the user {name} at localhost of io.debezium.connector reads kafka and postgres"
    assert Hidden({"database.user": (Found(USER, name),)})(text) == text


def test_the_same_value_is_hidden_as_a_secret() -> None:
    hide = Hidden({"database.user": (Found(USER, "postgres"),), "database.password": (Found(PASSWORD, "postgres"),)})
    assert hide("user=postgres password=postgres") == f"user={PASSWORD} password={PASSWORD}"
    assert "postgres" not in hide("postgresql://postgres@db").casefold()


SECRET = "s3cr't/p\"ss\\w rd&ü"


@each_case(
    "text",
    [
        f"xx{SECRET}yy",
        f"postgresql://shop:{quote(SECRET, safe='')}@db/shop",
        f"http://r?password={quote_plus(SECRET)}&more",
        "host=db password='{}'".format(SECRET.replace("\\", "\\\\").replace("'", "\\'")),
        'token="{}"'.format(SECRET.replace("\\", "\\\\").replace('"', '\\"')),
        "ALTER ROLE x PASSWORD '{}'".format(SECRET.replace("'", "''")),
        'option "{}"'.format(SECRET.replace('"', '""')),
        json.dumps({"a": SECRET}),
        repr(SECRET),
        SECRET.upper(),
    ],
)
@each_case(
    ("name", "reference"),
    [
        ("database.password", "${env:X}"),
        ("no.such.property", "${env:X}"),
        ("transforms.a.option", "${env:X}"),
        # A name within a property that is no secret's, whose reference says that it is one.
        ("database.user", "${file:/run/db:password}"),
    ],
)
def test_a_secret_is_hidden_in_every_form(text: str, name: str, reference: str) -> None:
    hidden = Hidden({name: (Found(reference, SECRET),)})(text)
    assert reference in hidden
    assert "cr" not in hidden.casefold().replace(reference, "")


def test_a_secret_is_hidden_inside_words() -> None:
    hide = Hidden({"database.password": (Found(PASSWORD, "hunter22"),)})
    assert hide("xhunter22y HUNTER22_z") == f"x{PASSWORD}y {PASSWORD}_z"
    # A letter whose other case is two letters.
    assert Hidden({"database.password": (Found(PASSWORD, "straße9"),)})("xstraße9y") == f"x{PASSWORD}y"


def test_every_part_of_a_list_of_names_is_hidden() -> None:
    hide = Hidden({"table.include.list": (Found("${env:T}", "public.orders, private.people"),)})
    assert hide("the table private.people, and reorders") == "the table ${env:T}.${env:T}, and reorders"
