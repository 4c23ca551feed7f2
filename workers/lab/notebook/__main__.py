"""``python -m workers.lab.notebook``: run the cells on new servers, and write the page and its pictures.

The page is written only if every cell succeeds. Exit codes: 0 on success, 1 with a message on failure, 130 on Ctrl-C.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from connector.extras import install_command
from workers.lab.bench.failure import BenchError
from workers.lab.bench.servers import own_servers, own_worker
from workers.lab.notebook.page import PICTURES, cells_of, missing, page_text
from workers.lab.notebook.running import run_cells
from workers.quickstart.embedded.failure import EmbeddedError
from workers.spark.failure import JobError

SCRIPT: Final = Path(__file__).with_name("shop.py")
DOCS: Final = Path(__file__).resolve().parents[3] / "docs"
PAGE: Final = "spark-notebook.md"


def main(arguments: list[str] | None = None) -> int:
    """Run the cells and write the page. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m workers.lab.notebook", description="Write the notebook-style page of the Spark pipeline."
    )
    parser.add_argument("--docs", type=Path, default=DOCS, metavar="FOLDER", help=f"where {PAGE} and {PICTURES}/ go (default: docs)")
    docs: Path = parser.parse_args(arguments).docs
    if importlib.util.find_spec("matplotlib") is None:
        return _fail(f"The pictures need matplotlib. Install it: {install_command('notebook')}")
    # SIGTERM ends the program and its servers, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="understudy-notebook-") as folder:
            made = Path(folder) / "docs"
            (made / PICTURES).mkdir(parents=True)
            _make(made, Path(folder) / "tables")
            shutil.copytree(made, docs, dirs_exist_ok=True)
    except (EmbeddedError, BenchError, JobError, TimeoutError) as problem:
        return _fail(str(problem))
    except KeyboardInterrupt:
        _fail("Stopped.")
        return 130
    sys.stderr.write(f"Written: {docs / PAGE}, {docs / PICTURES}/\n")
    return 0


def _make(docs: Path, tables: Path) -> None:
    """Write the page and its pictures to ``docs``, where the folder of the pictures must exist."""
    cells = cells_of(SCRIPT.read_text(encoding="utf-8"))
    tables.mkdir()
    with own_servers() as (postgres, kafka), own_worker(postgres.dsn, kafka.bootstrap, "notebook") as servers:
        os.environ |= {
            "SHOP_DSN": postgres.dsn,
            "SHOP_KAFKA": kafka.bootstrap,
            "SHOP_CONNECT": servers.rest.url,
            "SHOP_TABLES": str(tables),
            "SHOP_PICTURES": str(docs / PICTURES),
        }
        try:
            outputs = run_cells(cells, SCRIPT, sys.stdout)
        finally:
            # After a failed cell Spark must stop before Kafka does.
            left = SparkSession.getActiveSession()
            if left is not None:
                left.stop()
    if lacking := missing(cells, docs / PICTURES):
        raise BenchError(f"The cells did not draw {', '.join(lacking)}: use the file name of the link after '# %%'.")
    (docs / PAGE).write_text(page_text(cells, outputs), encoding="utf-8")


def _fail(words: str) -> int:
    sys.stderr.write(f"{words}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
