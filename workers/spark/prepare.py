"""``understudy-spark prepare``: fetch the jars and write the archive of Spark's classes, so that later starts take less time.

It is for the making of an image or of a machine. Nothing depends on it: a job fetches the jars that it lacks, and starts without an
archive.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, TextIO

from workers.spark.archive_training import JARS
from workers.spark.class_archive import archive_of
from workers.spark.failure import UNREADABLE, JobError
from workers.spark.jars import GROUPS, jars_of
from workers.spark.session import find_java, jar_folder

HELP: Final = "fetch the jars and write the archive of Spark's classes, so that later starts take less time"


def add_prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--jars",
        action="append",
        default=[],
        choices=sorted(GROUPS),
        metavar="GROUP",
        help=f"fetch these jars too ({', '.join(sorted(GROUPS))}); may be repeated",
    )


def run(jars: list[str], stream: TextIO) -> int:
    """Fetch the ``jars`` and those of the training, and write the archive unless it is there. Returns the exit code.

    Raises JobError when Java is missing, a jar cannot be fetched, or Java does not write the archive.
    """
    java, folder = find_java(), jar_folder()
    fetched = jars_of(java, folder, dict.fromkeys((*JARS, *jars)))
    print(f"{len(fetched)} jars are in {fetched[0].parent}", file=stream, flush=True)
    archive = archive_of(folder, java)
    if archive.is_file():
        print(f"The archive of Spark's classes is there already: {archive}", file=stream, flush=True)
        return 0
    print("Writing the archive of Spark's classes takes about a minute", file=stream, flush=True)
    # The archive is moved when it is complete, so that Java never maps a part of one.
    with tempfile.TemporaryDirectory(prefix="classes-", dir=folder) as place:
        written = Path(place) / archive.name
        command = [sys.executable, "-P", "-m", "workers.spark.archive_training", str(written)]
        # The JVM writes after the process has ended. It holds the output, so this waits for both.
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # noqa: S603 - our own module
        if done.returncode != 0 or not written.is_file():
            said = " ".join(line for line in done.stdout.splitlines()[-4:])
            raise JobError(UNREADABLE, f"{java} wrote no archive of Spark's classes: {said}. Jobs start without it, only slower.")
        megabytes = written.stat().st_size / 1024 / 1024
        written.replace(archive)
    print(f"The archive of Spark's classes is written: {archive}, {megabytes:.0f} MB", file=stream, flush=True)
    return 0
