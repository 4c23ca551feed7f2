"""The browser that shows the console to tests: Debian's ``chromium-headless-shell``, or else its ``chromium``.

The shell has no windows to compose: tests/contract/console/test_browser.py took 39 CPU-s with it, and 58 with the whole browser.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Browser, sync_playwright

PROGRAM: Final = shutil.which("chromium-headless-shell") or shutil.which("chromium")
NEEDED: Final = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium (Debian's package chromium-headless-shell or chromium)")
_OPTIONS: Final = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync"
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The running browser, which ends with the block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=_OPTIONS.split())
        yield browser
        browser.close()
