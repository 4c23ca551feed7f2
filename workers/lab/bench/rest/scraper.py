"""A process that scrapes a worker's metrics at intervals, as Prometheus does: ``python -m workers.lab.bench.rest.scraper URL SECONDS``.

It runs beside the measured phases, outside the worker's processes, so that its own work is not counted as the worker's. At SIGTERM it
writes what it saw as one line of JSON.
"""

# ruff: noqa: T201 - its output is for the process that started it

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from workers.lab.bench.failure import BenchError
from workers.lab.bench.percentiles import spread

ACCEPT: Final = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
"""As Prometheus asks."""
END_SECONDS: Final = 30.0

Scrapes = dict[str, float]


def scrape(url: str) -> int:
    """Return the number of series that the worker shows. Raises OSError if it does not answer with 200."""
    request = urllib.request.Request(url, headers={"Accept": ACCEPT})  # noqa: S310 - the address is the user's own
    with urllib.request.urlopen(request, timeout=END_SECONDS) as answer:  # noqa: S310 - the same
        return sum(not line.startswith(b"#") for line in answer.read().splitlines())


def scrape_until(ended: threading.Event, url: str, seconds: float) -> Scrapes:
    """Scrape at once and then every ``seconds`` until ``ended``. Return the number of scrapes and series, and the answers' ms."""
    answers: list[float] = []
    series, due = 0, time.monotonic()
    while True:
        began = time.monotonic()
        series = scrape(url)
        answers.append((time.monotonic() - began) * 1000)
        due += seconds
        if ended.wait(max(0.0, due - time.monotonic())):
            return {"interval_s": seconds, "scrapes": len(answers), "series": series, **spread(answers)}


@contextmanager
def scraping(url: str, seconds: float | None) -> Iterator[Scrapes]:
    """Scrape ``url`` in a process of its own while the block runs. The yielded figures are filled at its end; empty without ``seconds``.

    Raises BenchError if the worker did not answer a scrape.
    """
    found: Scrapes = {}
    if seconds is None:
        yield found
        return
    command = [sys.executable, "-P", "-m", "workers.lab.bench.rest.scraper", url, str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:  # noqa: S603 - our own program
        try:
            yield found
        finally:
            process.terminate()
            output, _ = process.communicate(timeout=END_SECONDS)
    if process.returncode:
        raise BenchError(f"{url} did not answer a scrape")
    found |= json.loads(output)


def main(arguments: list[str]) -> int:
    """The process. Returns the exit code."""
    url, seconds = arguments
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    try:
        print(json.dumps(scrape_until(ended, url, float(seconds))), flush=True)
    except OSError as problem:
        print(f"{url}: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
