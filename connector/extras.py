"""The packages that only some features need, by the extras that pyproject.toml groups them in.

Messages name these packages and not ``understudy[…]``: on PyPI the name ``understudy`` belongs to another project.
"""

from __future__ import annotations

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from typing import Final

_DISTRIBUTION: Final = "understudy"
_OF_EXTRA: Final = re.compile(r"""(?P<package>[^;]+?)\s*;.*\bextra\s*==\s*["'](?P<extra>[\w.-]+)["']""")
_OWN: Final = re.compile(rf"{_DISTRIBUTION}\[(?P<extra>[\w.-]+)\]")


def install_command(extra: str) -> str:
    """Return the shell command that installs the packages of ``extra``, in their pinned versions, for the Python that runs now.

    Where Understudy runs from a folder of its source without being installed, it is the command for the root of that source.
    A message that may get a full stop writes it between backticks: after the last package a full stop would be a part of its version.
    """
    python = sys.executable or "python3"
    # The environment of the images has no pip; another pip needs the folder to install to.
    pip = [python, "-m", "pip"] if find_spec("pip") is not None else ["pip", "--python", python]
    return shlex.join([*pip, "install", *(_packages(extra) or [f".[{extra}]"])])


def _packages(extra: str) -> list[str]:
    try:
        entries = requires(_DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
    found: list[str] = []
    for entry in entries:
        if (match := _OF_EXTRA.match(entry)) and match["extra"] == extra:
            own = _OWN.fullmatch(match["package"])
            found += _packages(own["extra"]) if own else [match["package"]]
    return found
