"""The arguments of ``bulk-snapshot``, which every command of ``understudy-spark`` imports."""

from __future__ import annotations

import subprocess
import sys


def test_the_arguments_import_no_connector() -> None:
    looks = "import sys, workers.bulk.command; print(sorted(name for name in sys.modules if name.startswith(('connector', 'fastapi'))))"
    done = subprocess.run([sys.executable, "-P", "-c", looks], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
