"""Decide whether the tests that failed may be run again alone, and print their names.

Usage: ``python -m tests.support.failed_parts FOLDER PART...``. ``FOLDER/PART`` is the cache of pytest's run of the part, and
``FOLDER/PART.code`` holds its exit code. The command's own code is 1, with a reason on standard error, if a part did not run to its end, or
if the failed tests are too many or need no server.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

MOST: Final = 3
ENDED: Final = ("0", "1")
"""pytest's codes for a run to the end: all tests passed, some failed."""


def main(folder: Path, parts: list[str]) -> int:
    """Print the failed tests, one a line. Returns the exit code."""
    failed: set[str] = set()
    for part in parts:
        code = _text(folder / f"{part}.code").strip() or "none"
        names = json.loads(_text(folder / part / "v" / "cache" / "lastfailed") or "{}")
        if code not in ENDED or (code == "1") != bool(names):
            return _refused(f"{part} ended with the code {code} and names {len(names)} failed tests")
        failed |= set(names)
    without_servers = [name for name in failed if name.startswith("tests/unit/")]
    if not failed or len(failed) > MOST or without_servers:
        return _refused(f"{len(failed)} tests failed, {len(without_servers)} of them in tests/unit")
    sys.stdout.write("".join(f"{name}\n" for name in sorted(failed)))
    return 0


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _refused(reason: str) -> int:
    sys.stderr.write(f"{reason}: no test is run again\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
