from __future__ import annotations

from tests.support.each_case import each_case
from workers.lab.site_pages import indented, linked

SITE = {"index.md", "config.md", "SECURITY.md", "tutorials/outbox.md", "pictures/a.png"}


@each_case(
    ("folder", "text", "found"),
    [
        ("docs", "[a](config.md#b)", "[a](config.md#b)"),
        ("docs", "[a](#b)", "[a](#b)"),
        ("docs", "[a](https://example.com/x.md)", "[a](https://example.com/x.md)"),
        ("docs", "![a](pictures/a.png)", "![a](pictures/a.png)"),
        ("docs", "see [the code](../workers/x.py).", "see the code."),
        ("docs", "[a\nb](../tests)", "a\nb"),
        ("docs", "[`x[1]`](../tests/x.py)", "`x[1]`"),
        ("docs", "[a](../SECURITY.md#x)", "[a](SECURITY.md#x)"),
        ("docs/tutorials", "[a](../config.md)", "[a](../config.md)"),
        ("docs/tutorials", "[a](../../SECURITY.md)", "[a](../SECURITY.md)"),
        ("", "[a](docs/config.md#b) [b](LICENSE)", "[a](config.md#b) b"),
        ("docs", "```\n[a](../x)\n```\n[a](../x)", "```\n[a](../x)\n```\na"),
        ("docs", "[a](kubernetes)", "a"),
        # MkDocs itself reports this one.
        ("docs", "[a](missing.md)", "[a](missing.md)"),
    ],
)
def test_links_lead_to_the_site_or_become_words(folder: str, text: str, found: str) -> None:
    assert linked(text, folder, folder.removeprefix("docs").strip("/"), SITE.__contains__) == found


def test_blocks_of_numbered_items_have_four_spaces() -> None:
    text = "1. One\n   more\n\n   ```sh\n   a\n     b\n   ```\n\n2. Two\n\nText\n   kept\n- item\n   kept"
    assert indented(text) == "1. One\n    more\n\n    ```sh\n    a\n      b\n    ```\n\n2. Two\n\nText\n   kept\n- item\n   kept"
