"""A Trino server beside a test, and the values that it reads in the form that Spark's have here.

Trino is 800 MB and needs a newer Java than Spark, so nothing fetches it: ``UNDERSTUDY_TEST_TRINO`` names the folder of an unpacked
``io.trino:trino-server``, and JAVA_HOME, PATH or ``/usr/lib/jvm`` has Java 24 or later.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.process import Process
from workers.quickstart.embedded.wait import wait_until

VARIABLE: Final = "UNDERSTUDY_TEST_TRINO"
JAVA: Final = 24
"""What Trino 476 needs."""
SECONDS: Final = 300.0
_HEADERS: Final = {"X-Trino-User": "test", "X-Trino-Time-Zone": "UTC", "X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME"}
"""Without the capability Trino rounds times to milliseconds."""
_MOMENT: Final = re.compile(r"([+-]?\d+)-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?(?: UTC)?")


class Trino:
    """A running server whose catalog ``delta`` reaches the files below one folder as ``local:///``."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, headers=_HEADERS, timeout=SECONDS)

    @property
    def starting(self) -> bool:
        """Whether it does not run queries yet."""
        try:
            answer = self._client.get("/v1/info")
        except httpx.TransportError:
            return True
        return not answer.is_success or bool(answer.json()["starting"])

    def query(self, statement: str) -> list[list[Any]]:
        """The rows of a statement, as JSON has them. Fails with Trino's message."""
        answer: dict[str, Any] = self._client.post("/v1/statement", content=statement.encode()).json()
        rows: list[list[Any]] = []
        while True:
            assert "error" not in answer, f"{statement}\n{answer['error']['message']}"
            rows += answer.get("data", [])
            if "nextUri" not in answer:
                return rows
            answer = self._client.get(answer["nextUri"]).json()

    def close(self) -> None:
        self._client.close()


@contextmanager
def trino(folder: Path, store: Path) -> Iterator[Trino]:
    """A server that keeps its own files in ``folder`` and reads tables below ``store``. Without Trino the test is skipped."""
    home = os.environ.get(VARIABLE)
    if not home:
        pytest.skip(f"{VARIABLE} names no folder of an unpacked io.trino:trino-server")
    java, port = _java(), free_port()
    catalogs = folder / "etc" / "catalog"
    catalogs.mkdir(parents=True)
    (store / "metastore").mkdir()
    (catalogs / "delta.properties").write_text(
        "connector.name=delta_lake\nhive.metastore=file\nhive.metastore.catalog.dir=local:///metastore\n"
        f"fs.native-local.enabled=true\nlocal.location={store}\ndelta.register-table-procedure.enabled=true\n",
        encoding="utf-8",
    )
    # With all its plugins it takes minutes to start.
    shutil.copytree(Path(home) / "plugin" / "delta-lake", folder / "plugin" / "delta-lake", copy_function=os.symlink)
    (folder / "etc" / "config.properties").write_text(
        f"coordinator=true\nnode-scheduler.include-coordinator=true\nhttp-server.http.port={port}\n"
        f"discovery.uri=http://127.0.0.1:{port}\nplugin.dir={folder}/plugin\n",
        encoding="utf-8",
    )
    options = ("-Xmx1g", "--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED", "-Djdk.attach.allowAttachSelf=true")
    node = (f"-Dnode.environment=test -Dnode.id=test -Dnode.internal-address=127.0.0.1 -Dnode.data-dir={folder}").split()
    program = ("-cp", f"{home}/lib/*", "io.trino.server.TrinoServer")
    process = Process([java, *options, *node, f"-Dconfig={folder}/etc/config.properties", *program], folder / "log")
    server = Trino(f"http://127.0.0.1:{port}")
    try:
        wait_until(lambda: not process.running or not server.starting, process.last_words, SECONDS)
        assert process.running, process.last_words()
        yield server
    finally:
        server.close()
        process.stop(signal.SIGTERM)


def _java() -> Path:
    homes = [os.environ.get("JAVA_HOME"), *sorted(map(str, Path("/usr/lib/jvm").glob("*")))]
    found = [Path(home) / "bin" / "java" for home in homes if home] + [Path(path) for path in [shutil.which("java")] if path]
    for program in found:
        if program.is_file():
            listed = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
            version = re.search(r'version "(\d+)', listed)
            if version is not None and int(version[1]) >= JAVA:
                return program
    pytest.skip(f"Trino needs Java {JAVA} or later, in JAVA_HOME, on PATH or below /usr/lib/jvm")


def plain(value: Column, of: DataType) -> Column:
    """A value of Spark's of this type as Python has room for: days and microseconds of 1970, texts of decimals, Base64 of bytes."""
    match of:
        case DateType():
            return F.unix_date(value)
        case TimestampType():
            return F.unix_micros(value)
        case TimestampNTZType():
            # The session's time zone is UTC.
            return F.unix_micros(value.cast("timestamp"))
        case BinaryType():
            return F.base64(value)
        case DecimalType():
            return value.cast("string")
        case ArrayType(elementType=item):
            return F.transform(value, lambda one: plain(one, item))
        case StructType(fields=fields):
            return F.struct(*(plain(value[field.name], field.dataType).alias(field.name) for field in fields))
        case _:
            return value


def comparable(value: Any) -> Any:
    """A collected value of :func:`plain`: rows are lists, and NaN equals itself."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple):
        return [comparable(one) for one in value]
    return {name: comparable(one) for name, one in value.items()} if isinstance(value, dict) else value


def read(value: Any, of: DataType) -> Any:
    """A value of Trino's JSON as :func:`comparable` has it, where ``of`` is its type in Spark."""
    if value is None:
        return None
    match of:
        case DateType():
            return micros_of(value) // 86_400_000_000
        case TimestampType() | TimestampNTZType():
            return micros_of(value)
        case FloatType():
            return repr(struct.unpack("f", struct.pack("f", float(value)))[0])
        case DoubleType():
            return repr(float(value))
        case ArrayType(elementType=item):
            return [read(one, item) for one in value]
        case MapType(keyType=key, valueType=item):
            return {_key(name, key): read(one, item) for name, one in value.items()}
        case StructType(fields=fields):
            return [read(one, field.dataType) for one, field in zip(value, fields, strict=True)]
        case _:
            return value


def _key(name: str, of: DataType) -> Any:
    return name if of.simpleString() == "string" else int(name)


def micros_of(text: str) -> int:
    """Microseconds since 1970 of a date or time as Trino writes it, in the proleptic Gregorian calendar, for any year."""
    found = _MOMENT.fullmatch(text)
    assert found is not None, text
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    fraction = int((found[7] or "").ljust(6, "0"))
    # Years begin in March here, so that the leap day is the last one.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - 719_468
    return ((days * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000 + fraction
