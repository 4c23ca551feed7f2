"""Addresses and logins of commands: what a message may say of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.settings.worker_address import AddressError, check_url, netrc_login, shown_url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://w:8083/base", "http://w:8083/base"),
        ("https://ann:geheim@w:8083", "https://w:8083"),
        ("http://ann:ge/heim@w", "http://w"),
        ("http://ann:ge@heim@w/x", "http://w/x"),
        ("ann:geheim@w:8083", "w:8083"),
        ("http://ann:geheim@[", "http://["),
    ],
)
def test_a_shown_address_has_no_login(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@pytest.mark.parametrize("url", ["http://ann:ge/heim@w", "ftp://ann:geheim@w", "http://ann:geheim@w:port", "http://ann:geheim@["])
def test_a_refusal_has_no_login(url: str) -> None:
    with pytest.raises(AddressError) as refused:
        check_url(url)
    assert "ann" not in str(refused.value)
    assert "heim" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "words"), [(b"machine w\nlogin ann\ngeheim x\n", "an error in line 3"), (b"machine \xff", "not UTF-8")]
)
def test_a_malformed_netrc_file_is_not_quoted(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "netrc"
    file.write_bytes(content)
    with pytest.raises(AddressError, match=words) as refused:
        netrc_login(file)
    assert str(file) in str(refused.value)
    assert "geheim" not in str(refused.value)
