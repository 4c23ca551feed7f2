from __future__ import annotations

import pytest

from workers.telemetry.beans.object_name import key_value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shop-1.eu%", "shop-1.eu%"),
        ("127.0.0.1:8083", '"127.0.0.1:8083"'),
        ('a"b\\c*?\n', '"a\\"b\\\\c\\*\\?\\n"'),
        ("größe", '"größe"'),
    ],
)
def test_other_characters_are_quoted(text: str, expected: str) -> None:
    assert key_value(text) == expected
