import httpx
from fastapi import FastAPI

from connect_api.login import Login
from workers.rest.metrics_route import PATH, add_metrics


async def scrape(login: Login | None, auth: tuple[str, str] | None = None) -> httpx.Response:
    app = FastAPI()
    add_metrics(app, lambda accept: (f"for {accept}".encode(), "text/plain; version=1.0.0"), login=login)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://worker", auth=auth) as client:
        return await client.get(PATH, headers={"Accept": "text/plain"})


async def test_a_scrape_gets_the_format_that_it_asks_for() -> None:
    answer = await scrape(None)
    assert (answer.status_code, answer.text, answer.headers["content-type"]) == (200, "for text/plain", "text/plain; version=1.0.0")


async def test_a_scrape_needs_the_login_of_the_rest_interface() -> None:
    login = Login({"ann": "secret"})
    assert (await scrape(login)).status_code == 401
    assert (await scrape(login, ("ann", "wrong"))).status_code == 401
    assert (await scrape(login, ("ann", "secret"))).status_code == 200
