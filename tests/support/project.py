"""Where the project's files lie, for tests at any depth of the tree."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
TESTS: Final = ROOT / "tests"
DOCS: Final = ROOT / "docs"
SUPPORT: Final = TESTS / "support"
TLS: Final = SUPPORT / "tls"
