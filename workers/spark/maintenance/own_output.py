"""Standard output for this program alone, without what its JVM prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import UnsupportedOperation
from typing import Final, TextIO

_OUT: Final = 1
_ERROR: Final = 2


@contextmanager
def own_output() -> Iterator[TextIO]:
    """A stream to standard output. Processes that are started within the block write theirs to standard error.

    Delta's VACUUM prints a sentence to the standard output of the JVM, which inherits this process's, so that ``--json`` would not be
    JSON. Where ``sys.stdout`` is another stream, as in a notebook, that stream is yielded and nothing changes.
    """
    if not _is_standard(sys.stdout):
        yield sys.stdout
        return
    sys.stdout.flush()
    kept = os.dup(_OUT)
    os.dup2(_ERROR, _OUT)
    try:
        with os.fdopen(os.dup(kept), "w", encoding="utf-8") as stream:
            yield stream
    finally:
        os.dup2(kept, _OUT)
        os.close(kept)


def _is_standard(stream: TextIO) -> bool:
    try:
        return stream.fileno() == _OUT
    except UnsupportedOperation:
        return False
