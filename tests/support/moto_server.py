"""Amazon's services in memory, by the independent implementation ``moto``, on a loopback address."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import Signals
from urllib.error import URLError
from urllib.request import urlopen

from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until


@contextmanager
def moto_server(log: Path) -> Iterator[str]:
    """The address of a server, within the block."""
    port = free_port()
    process = Process([Path(sys.executable).with_name("moto_server"), "-H", "127.0.0.1", "-p", str(port)], log)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(url, process), "Amazon's services", 180)
        yield url
    finally:
        process.stop(Signals.SIGTERM)


def _answers(url: str, process: Process) -> bool:
    assert process.running, process.last_words()
    try:
        urlopen(f"{url}/moto-api/", timeout=5).close()
    except (URLError, ConnectionError):
        return False
    return True
