"""Where the demo's files are, and what its commands are called: in the repository and in an installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parents[3]
"""The repository, or the folder of an installation."""
EXAMPLES: Final = Path("docs/examples")
IN_REPOSITORY: Final = (PROJECT / EXAMPLES).is_dir()


def example(name: str, *, in_repository: bool = IN_REPOSITORY) -> Path:
    """The path of an example, from :data:`PROJECT` in the repository, else absolute: the wheel has copies beside this module."""
    return EXAMPLES / name if in_repository else Path(__file__).with_name(name)


def call(action: str, *, in_repository: bool = IN_REPOSITORY) -> str:
    """The shell's command for an action of the demo."""
    return f"make {action}" if in_repository else f"understudy quickstart {action}"
