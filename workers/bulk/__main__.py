"""``understudy-spark`` (``python -m workers.bulk``): the commands of :mod:`workers.spark.commands`, and ``bulk-snapshot``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from workers.bulk import command
from workers.spark import commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return commands.main(arguments, [command])


if __name__ == "__main__":
    sys.exit(main())
