"""A JVM whose classes are called by name through Py4J, for recorders of what real classes answer."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workers.quickstart.embedded.java import find_java


@contextmanager
def running_java(folders: Iterable[str]) -> Iterator[Any]:
    """The classes of the jars in these folders, while the context is open."""
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # noqa: PLC0415 - it comes with the extra quickstart

    words: deque[str] = deque(maxlen=50)
    port, token, process = launch_gateway(
        classpath=os.pathsep.join(str(jar) for folder in folders for jar in sorted(Path(folder).glob("*.jar"))),
        javaopts=["-Xmx300m", "-XX:TieredStopAtLevel=1"],
        java_path=str(find_java().program),
        redirect_stdout=words,
        redirect_stderr=words,
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    try:
        yield gateway.jvm
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(60)
