"""A Prometheus of a test's own, by the program that Debian's package ``prometheus`` installs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import yaml

from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until

PROGRAM: Final = shutil.which("prometheus")
"""None where it is not installed."""
SECONDS: Final = 180.0


class Prometheus:
    """A running Prometheus."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=SECONDS)

    def ready(self) -> bool:
        """Whether it answers queries."""
        try:
            return self._client.get("/-/ready").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def ask(self, query: str) -> list[tuple[dict[str, str], float]]:
        """Return the labels and the value of each series that the query gives now. Raises AssertionError for a query that it refuses."""
        answer: dict[str, Any] = self._client.get("/api/v1/query", params={"query": query}).json()
        assert answer["status"] == "success", f"{query}: {answer}"
        return [(each["metric"], float(each["value"][1])) for each in answer["data"]["result"]]

    def alerts(self) -> set[str]:
        """The names of the alerts that fire."""
        found = self._client.get("/api/v1/alerts").json()["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in found if alert["state"] == "firing"}

    def close(self) -> None:
        """Close the connections to it."""
        self._client.close()


@contextmanager
def scraping(folder: Path, targets: Mapping[str, tuple[int, Mapping[str, str]]], rules: object) -> Iterator[Prometheus]:
    """Scrape each second. ``targets``: job → port on this host, and labels. ``rules`` is the content of a file of rules."""
    assert PROGRAM is not None
    port = free_port()
    (folder / "rules.yml").write_text(yaml.safe_dump(rules), encoding="utf-8")
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(folder / "rules.yml")],
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{target}"], "labels": dict(labels)}]}
            for job, (target, labels) in targets.items()
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    own = [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}"]
    process = Process([PROGRAM, *own], folder / "prometheus.log")
    found = Prometheus(f"http://127.0.0.1:{port}")
    try:
        wait_until(found.ready, lambda: f"Prometheus to answer\n{process.last_words()}", SECONDS)
        yield found
    finally:
        found.close()
        process.stop()
