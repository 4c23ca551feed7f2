"""Calls to a worker: logins, refusals, and a worker that does not answer."""

from __future__ import annotations

import base64
from pathlib import Path

import click
import httpx
import pytest

from workers.cli.failure import CommandError
from workers.cli.rest import RefusedError, Rest, connector_path, open_rest


def answering(status: int, **content: object) -> tuple[httpx.MockTransport, list[httpx.Request]]:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(status, **content)  # type: ignore[arg-type]

    return httpx.MockTransport(answer), seen


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_a_refusal_has_the_workers_words() -> None:
    transport, _ = answering(409, json={"error_code": 409, "message": "Rebalancing"})
    with pytest.raises(RefusedError, match=r"^The worker at http://w answers 409: Rebalancing$") as refused:
        Rest("http://w/", transport=transport).get("/connectors")
    assert (refused.value.status, refused.value.exit_code) == (409, 1)


def test_a_missing_login_has_a_remedy() -> None:
    transport, _ = answering(401, text="User cannot access the resource.")
    with pytest.raises(RefusedError, match=r"User cannot access the resource\. Give --user and UNDERSTUDY_PASSWORD, or --netrc\.$"):
        Rest("http://w", transport=transport).get("/")


def test_404_can_be_an_answer() -> None:
    transport, _ = answering(404, json={"error_code": 404, "message": "no"})
    assert Rest("http://w", transport=transport).found("/x") is None


def test_a_worker_that_is_away() -> None:
    with pytest.raises(CommandError, match=r"^The worker at http://127\.0\.0\.1:1 does not answer \(.+\)\. Check --url or UNDERSTUDY_URL"):
        Rest("http://127.0.0.1:1").get("/")


def test_the_login_is_sent() -> None:
    transport, seen = answering(200, json={})
    Rest("http://w", user=("ann", "geheim"), transport=transport).get("/")
    assert seen[0].headers["authorization"] == basic("ann", "geheim")


def test_the_login_of_a_netrc_file(tmp_path: Path) -> None:
    file = tmp_path / "netrc"
    file.write_text("machine w login ann password geheim\n")
    transport, seen = answering(200, json={})
    Rest("http://w", netrc=file, transport=transport).get("/")
    assert seen[0].headers["authorization"] == basic("ann", "geheim")


def test_the_password_is_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_PASSWORD", "geheim")
    given: list[object] = []
    monkeypatch.setattr("workers.cli.rest.Rest", lambda _url, **login: given.append(login["user"]))
    open_rest("http://w", "ann", None, None)
    open_rest("http://w", "ann:other:one", None, None)
    assert given == [("ann", "geheim"), ("ann", "other:one")]


def test_messages_do_not_have_the_login_of_the_address() -> None:
    transport, seen = answering(403, text="no")
    rest = Rest("http://ann:geheim@w/", transport=transport)
    assert rest.url == "http://w"
    with pytest.raises(RefusedError, match=r"^The worker at http://w answers 403: no$"):
        rest.get("/")
    assert seen[0].headers["authorization"] == basic("ann", "geheim")


def test_a_malformed_netrc_file_is_a_wrong_call(tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine w\ngeheim x\n")
    with pytest.raises(click.UsageError, match=r"netrc has an error in line 2$"):
        Rest("http://w", netrc=tmp_path / "netrc")


@pytest.mark.parametrize("url", ["http://w:99999", "http://[", "localhost:8083", "ftp://w", "http://"])
def test_an_address_that_is_none_is_a_wrong_call(url: str) -> None:
    with pytest.raises(click.UsageError, match="address or login"):
        Rest(url)


def test_names_are_segments() -> None:
    assert connector_path("a/b c", "/status") == "/connectors/a%2Fb%20c/status"
