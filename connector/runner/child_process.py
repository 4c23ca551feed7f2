"""How this program starts another Python of its own: the same packages, and nothing from the folder that it happens to stand in."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import connector


def python_command(module: str, *arguments: str) -> list[str]:
    """The command that runs ``module``.

    With ``-P`` the working directory is not on the module path: a file ``orjson.py`` that lies there would be run in place of the package.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def python_environment() -> dict[str, str]:
    """The environment for it: ours, so that the process and those that it starts find this very package, wherever we found it."""
    root = str(Path(connector.__file__).parent.parent)
    path = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
