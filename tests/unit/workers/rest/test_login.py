from __future__ import annotations

import logging
from pathlib import Path

import pytest

from connector.errors import CdcError
from workers.rest.login import EXTENSION, MODULE, PROPERTY, from_java_options, users
from workers.settings.worker_settings import worker_properties


def reported(folder: Path, jaas: str, passwords: str = "alice=secret\n") -> dict[str, str]:
    (folder / "users.properties").write_text(passwords, encoding="latin-1")
    (folder / "jaas.conf").write_text(jaas.replace("FILE", str(folder / "users.properties")).replace("MODULE", MODULE))
    return {"rest.extension.classes": EXTENSION, PROPERTY: str(folder / "jaas.conf")}


@pytest.mark.parametrize(
    "jaas",
    [
        'KafkaConnect { MODULE required file="FILE"; };',
        "KafkaConnect {\n  MODULE required\n  file=FILE;\n};",
        '// of the worker\n/* a { b */ # c\nOther { x.Y sufficient; };\nKafkaConnect { MODULE OPTIONAL debug=true file="FILE"; };',
        'other { MODULE requisite file="FILE"; };',
    ],
)
def test_the_file_that_a_jaas_entry_names(tmp_path: Path, jaas: str) -> None:
    assert users(reported(tmp_path, jaas)) == {"alice": "secret"}


def test_passwords_are_written_as_java_writes_properties(tmp_path: Path) -> None:
    text = "# staff\nalice : a=b\nbob\\ m = w\\u00f6rd\neve=\xe4\nzoe=\\ud83d\\ude00\n"
    assert users(reported(tmp_path, 'KafkaConnect { MODULE required file="FILE"; };', text)) == {
        "alice": "a=b",
        "bob m": "wörd",
        "eve": "ä",
        "zoe": "😀",
    }


@pytest.mark.parametrize(
    ("jaas", "message"),
    [
        ("", "no entry KafkaConnect"),
        ('KafkaClient { MODULE required file="FILE"; };', "no entry KafkaConnect"),
        ("KafkaConnect { MODULE required; };", "names no file of users"),
        ("KafkaConnect { com.sun.security.auth.module.LdapLoginModule required file=FILE; };", "LdapLoginModule"),
        ("KafkaConnect { MODULE required file=FILE; MODULE required file=FILE; };", "supports one module"),
        ("KafkaConnect { };", "names no module"),
        ("KafkaConnect { MODULE perhaps file=FILE; };", "cannot be read"),
        ("KafkaConnect { MODULE required file=FILE }", "cannot be read"),
        ("KafkaConnect { MODULE required file=FILE; }", "cannot be read"),
        ("KafkaConnect { MODULE required file=FILEx; };", "Cannot read the file of users .*No such file"),
    ],
)
def test_unusable_settings_are_reported(tmp_path: Path, jaas: str, message: str) -> None:
    with pytest.raises(CdcError, match=message):
        users(reported(tmp_path, jaas))


def test_a_bad_escape_does_not_quote_its_line(tmp_path: Path) -> None:
    with pytest.raises(CdcError, match="escape is malformed") as caught:
        users(reported(tmp_path, "KafkaConnect { MODULE required file=FILE; };", "alice=hunter2\\uXX"))
    assert "hunter2" not in str(caught.value)


def test_an_empty_file_lets_everyone_in_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert users(reported(tmp_path, "KafkaConnect { MODULE required file=FILE; };", "")) == {}
    assert "every request is accepted" in caplog.text


@pytest.mark.parametrize("text", ["", " , "])
def test_without_the_extension_nothing_is_read(text: str) -> None:
    assert users({"rest.extension.classes": text, PROPERTY: "/nowhere"}) is None


def test_its_short_name_is_taken(tmp_path: Path) -> None:
    properties = reported(tmp_path, "KafkaConnect { MODULE required file=FILE; };")
    assert users({**properties, "rest.extension.classes": "BasicAuthSecurityRestExtension"}) == {"alice": "secret"}


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"rest.extension.classes": "org.example.Mine"}, r"rest\.extension\.classes names org\.example\.Mine"),
        ({"rest.extension.classes": f"{EXTENSION},org.example.Mine"}, r"names org\.example\.Mine"),
        ({"rest.extension.classes": EXTENSION}, "KAFKA_OPTS"),
        ({"rest.extension.classes": EXTENSION, PROPERTY: "/nowhere.conf"}, "JAAS file /nowhere.conf: No such file"),
    ],
)
def test_missing_or_unsupported_settings(properties: dict[str, str], message: str) -> None:
    with pytest.raises(CdcError, match=message):
        users(properties)


@pytest.mark.parametrize(
    ("options", "file"),
    [
        ("", None),
        ("-Xmx1g -Dother=x", None),
        (f"-Xmx1g -D{PROPERTY}=/a.conf", "/a.conf"),
        (f"-D{PROPERTY}=/a.conf -D{PROPERTY}==/b.conf", "/b.conf"),
        (f'-D{PROPERTY}="/with space.conf"', "/with space.conf"),
        (f"-D{PROPERTY}=file:///a.conf", "/a.conf"),
        (f"-Dtext=it's -D{PROPERTY}=file:/a.conf", "/a.conf"),
    ],
)
def test_options_of_the_jvm(options: str, file: str | None) -> None:
    assert from_java_options(options) == file


def test_the_environment_names_the_file_and_the_worker_s_file_wins(tmp_path: Path) -> None:
    environment = {"KAFKA_OPTS": f"-D{PROPERTY}=/a.conf"}
    assert worker_properties(None, environment) == {PROPERTY: "/a.conf"}
    (tmp_path / "w").write_text("group.id=g\n")
    assert worker_properties(tmp_path / "w", environment) == {PROPERTY: "/a.conf", "group.id": "g"}
    (tmp_path / "w").write_text(f"{PROPERTY}=/b.conf\n")
    assert worker_properties(tmp_path / "w", environment) == {PROPERTY: "/b.conf"}
