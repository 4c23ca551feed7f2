from __future__ import annotations

from pathlib import Path

import pytest

from connector.errors import CdcError, ErrorKind
from workers.secrets import Provider, Secrets


def all_kinds() -> Secrets:
    return Secrets({"file": Provider("file"), "dir": Provider("directory"), "env": Provider("env")})


def test_each_provider_resolves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "db.properties").write_text("user=me\npassword=p\\u0061ss\n")
    (tmp_path / "token").write_text("t0k")
    monkeypatch.setenv("UNDERSTUDY_TEST_SECRET", "from env")
    config = {
        "a": f"${{file:{tmp_path}/db.properties:password}}",
        "b": f"${{dir:{tmp_path}:token}}",
        "c": "x-${env:UNDERSTUDY_TEST_SECRET}-${env:UNDERSTUDY_TEST_SECRET}",
        "d": "plain $ {env:X}",
    }
    assert all_kinds().resolve(config) == {"a": "pass", "b": "t0k", "c": "x-from env-from env", "d": "plain $ {env:X}"}


def test_a_reference_to_an_unknown_provider_stays() -> None:
    assert all_kinds().resolve({"a": "${vault:x:y}", "b": "${b}"}) == {"a": "${vault:x:y}", "b": "${b}"}


@pytest.mark.parametrize(
    "reference", ["${file:/no/such/file:key}", "${env:UNDERSTUDY_NOT_SET}", "${dir:/no/such:key}", "${dir:/etc:../etc/hosts}"]
)
def test_what_cannot_be_resolved_names_property_and_reference(reference: str) -> None:
    with pytest.raises(CdcError) as caught:
        all_kinds().resolve({"database.password": reference})
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
    assert "database.password" in caught.value.message
    assert reference in caught.value.message


def test_missing_key_does_not_quote_the_file(tmp_path: Path) -> None:
    (tmp_path / "db.properties").write_text("password=hunter2\n")
    with pytest.raises(CdcError) as caught:
        all_kinds().resolve({"a": f"${{file:{tmp_path}/db.properties:pass}}"})
    assert "hunter2" not in str(caught.value)


def test_allowed_paths_are_kept(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "f").write_text("k=v")
    (tmp_path / "out").write_text("k=v")
    secrets = Secrets({"file": Provider("file", allowed_paths=(str(tmp_path / "in"),))})
    assert secrets.resolve({"a": f"${{file:{tmp_path}/in/f:k}}"}) == {"a": "v"}
    for path in (f"{tmp_path}/out", f"{tmp_path}/in/../out"):
        with pytest.raises(CdcError):
            secrets.resolve({"a": f"${{file:{path}:k}}"})


def test_allowed_names_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_A", "1")
    monkeypatch.setenv("OTHER", "2")
    secrets = Secrets({"env": Provider("env", allowed_names="UNDERSTUDY_.*")})
    assert secrets.resolve({"a": "${env:UNDERSTUDY_A}"}) == {"a": "1"}
    with pytest.raises(CdcError):
        secrets.resolve({"a": "${env:OTHER}"})
