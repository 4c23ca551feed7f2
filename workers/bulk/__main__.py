"""``understudy-spark`` (``python -m workers.bulk``): the commands of :mod:`workers.spark.commands`, and ``bulk-snapshot``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from connector.extras import install_command
from workers.spark.failure import NO_JAVA

_NEEDED: Final = {"pyspark": "PySpark", "pyarrow": "PyArrow", "pyroaring": "pyroaring", "xxhash": "xxhash"}
"""The packages of the extra ``spark`` that the commands import, and how they are written."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    missing = next((shown for name, shown in _NEEDED.items() if find_spec(name) is None), None)
    if missing is not None:
        sys.stderr.write(f"error: {missing} is not installed. Install it: {install_command('spark')}\n")
        return NO_JAVA
    from workers.bulk import command  # noqa: PLC0415 (it needs PySpark)
    from workers.spark import commands  # noqa: PLC0415 (as above)

    return commands.main(arguments, [command])


if __name__ == "__main__":
    sys.exit(main())
