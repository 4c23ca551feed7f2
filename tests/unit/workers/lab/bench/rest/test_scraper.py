"""The process that scrapes while phases are measured."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from workers.lab.bench.__main__ import options
from workers.lab.bench.failure import BenchError
from workers.lab.bench.rest.scraper import scrape_until, scraping

BODY = b'# TYPE a gauge\na 1\na{b="c"} 2\n# EOF\n'


class Metrics(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/metrics" else 404)
        self.end_headers()
        self.wfile.write(BODY)
        self.server.asked.set()  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        """No-op: the test's output stays clean."""


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), Metrics) as running:
        running.asked = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_scrapes_and_series_are_counted(server: HTTPServer) -> None:
    ended = threading.Event()
    ended.set()
    found = scrape_until(ended, f"http://127.0.0.1:{server.server_port}/metrics", 5)
    assert found.keys() == {"interval_s", "scrapes", "series", "p50", "p95", "p99", "max"}
    assert (found["interval_s"], found["scrapes"], found["series"]) == (5, 1, 2)


def test_the_process_scrapes_until_the_block_ends(server: HTTPServer) -> None:
    with scraping(f"http://127.0.0.1:{server.server_port}/metrics", 60) as found:
        assert server.asked.wait(30)  # type: ignore[attr-defined]
        assert found == {}
    assert (found["scrapes"], found["series"]) == (1, 2)


def test_a_worker_without_metrics_is_reported(server: HTTPServer, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BenchError, match="did not answer a scrape"), scraping(f"http://127.0.0.1:{server.server_port}/other", 60):
        assert server.asked.wait(30)  # type: ignore[attr-defined]
    assert "HTTP Error 404" in capfd.readouterr().err


def test_nothing_is_scraped_without_an_interval() -> None:
    with scraping("http://127.0.0.1:1/metrics", None) as found:
        pass
    assert found == {}


def test_options() -> None:
    assert options(["--scrape", "0.5"]).scrape == 0.5
    for wrong in (["--scrape", "0"], ["--metrics", "http://h:1/metrics"], ["--scrape", "nan"]):
        with pytest.raises(SystemExit):
            options(wrong)
