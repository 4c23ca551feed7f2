from __future__ import annotations

import pytest

from connector.java.properties import parse_properties, read_properties
from tests.support.each_case import each_case


@each_case(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("  a = b  ", {"a": "b  "}),
        ("a\t:\t b", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("# a=b\n! c=d\n\n   \n   # e=f", {}),
        ("a=b#c", {"a": "b#c"}),
        ("a=b=c:d", {"a": "b=c:d"}),
        ("a==b", {"a": "=b"}),
        ("a=one, \\\n    two, \\\n\tthree", {"a": "one, two, three"}),
        ("a=one\\\r\n  two\r\nb=c\rd=e", {"a": "onetwo", "b": "c", "d": "e"}),
        ("a=one\\\\\nb=two", {"a": "one\\", "b": "two"}),
        ("a=one\\\n# not a comment", {"a": "one# not a comment"}),
        ("a=last\\", {"a": "last"}),
        ("\\\n# a comment\na=b", {"a": "b"}),
        ("\\\n\n\\\n", {"": ""}),
        ("\\", {"": ""}),
        ("a=b\n\\", {"a": "b", "": ""}),
        ("a=b\n\\\n", {"a": "b", "": ""}),
        ("a=b\r\\\r", {"a": "b", "": ""}),
        ("a=b\r\n\\\r\n", {"a": "b"}),
        ("a=b\\\n", {"a": "b"}),
        ("a=b\\\\\n", {"a": "b\\"}),
        ("a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
        (r"a=\t\n\r\f\q\\", {"a": "\t\n\r\fq\\"}),
        (r"a=\u00e9\u20AC", {"a": "é€"}),
        (r"\uD83D\uDE00=a\uD83D\uDE00b", {"😀": "a😀b"}),
        (r"a=\uD83D \uDE00\uD83D\uD83D\uDE00", {"a": "? ??😀"}),
        (r"path=C:\\kafka\\x", {"path": r"C:\kafka\x"}),
        ("a=1\na=2", {"a": "2"}),
        ("=b", {"": "b"}),
    ],
)
def test_reads_as_java_does(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_order_is_the_files() -> None:
    assert list(parse_properties("z=1\na=2\nm=3")) == ["z", "a", "m"]


@pytest.mark.parametrize("escape", [r"\u12", r"\uxyzw", r"\u", r"\u+123"])
def test_malformed_escape_names_the_key(escape: str) -> None:
    with pytest.raises(ValueError, match=r"'some\.key'"):
        parse_properties(f"some.key={escape}")


def test_a_file_is_utf_8_or_latin_1() -> None:
    assert read_properties("a=größe €".encode()) == {"a": "größe €"}
    assert read_properties("a=größe".encode("latin-1")) == {"a": "größe"}
