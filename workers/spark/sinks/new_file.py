"""Creates a file that must not exist yet, completely or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

_RIGHTS: Final = 0o644
"""The rights that Hadoop gives to files, whatever the process's own mask is."""


@contextmanager
def created(path: Path, *, unique: bool = False) -> Iterator[BinaryIO]:
    """Create ``path`` with what the block writes to the file; not if the block fails. Of several processes that try, one succeeds.

    Raises FileExistsError if it exists, and another OSError if it cannot be written, also on file systems without hard links. No links are
    needed for a ``unique`` name, which no other process has.
    """
    # A name that begins with a dot is no table's: Delta and Spark ignore it if the process ends before the file has its name.
    aside = path.with_name(f".{path.name}.{uuid.uuid4()}.tmp")
    try:
        with aside.open("xb") as file:
            os.fchmod(file.fileno(), _RIGHTS)
            yield file
        if unique:
            aside.rename(path)
        else:
            # A link, in contrast to a renamed file, never replaces another file.
            path.hardlink_to(aside)
    finally:
        aside.unlink(missing_ok=True)


def create(path: Path, content: str | bytes) -> None:
    """Create ``path`` with this content, a text in UTF-8, as :func:`created` does."""
    with created(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
