from __future__ import annotations

import pytest

from connector.java.charsets import charset
from tests.support.each_case import each_case


@each_case(
    ("name", "text", "wanted"),
    [
        ("UTF-8", "é😀", b"\xc3\xa9\xf0\x9f\x98\x80"),
        ("utf8", "é", b"\xc3\xa9"),
        ("ISO-8859-1", "é€😀", b"\xe9??"),
        ("Latin1", "é", b"\xe9"),
        ("Cp1252", "€", b"\x80"),
        ("ASCII", "é", b"?"),
        ("UTF-16", "a", b"\xfe\xff\0a"),
        ("UTF-16", "", b""),
        ("UTF-16BE", "a", b"\0a"),
        ("UTF-16LE", "a", b"a\0"),
        ("UTF-32", "a", b"\0\0\0a"),
        ("KOI8-R", "Я", b"\xf1"),
    ],
)
def test_text_becomes_the_bytes_of_java(name: str, text: str, wanted: bytes) -> None:
    encode = charset(name)
    assert encode is not None
    assert encode(text) == wanted


@pytest.mark.parametrize("name", ["", "no-such", "utf_7", "rot13", "idna"])
def test_other_names_are_unknown(name: str) -> None:
    assert charset(name) is None
