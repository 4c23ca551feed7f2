"""The program of :mod:`tests.support.worker_forks`: a process that has imported a worker's modules, and forks workers.

It is started with the number of its socket. It ends when the other end of the socket closes.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Final

MODULES: Final = (
    "connect_api.app",
    "connector.runner.event_loop",
    "workers.__main__",
    "workers.console.group_flows",
    "workers.console.site",
    "workers.herder.configuration_check",
    "workers.rest.metrics_route",
    "workers.worker",
    # These when the worker is ready, or for its first connector.
    "connector.io.postgres.preflight",
    "connector.runner.task",
    "workers.bulk.spark_snapshots",
    "workers.herder.submitted_config",
)
"""What each worker imports."""
MOST: Final = 1 << 16
"""Bytes of a message."""


def serve(control: socket.socket) -> list[str]:
    """Fork processes and answer how they ended, until the other end closes. Return the arguments of the worker, in its process."""
    while True:
        message, files, _, _ = socket.recv_fds(control, MOST, 1)
        if not message:
            sys.exit(0)
        request = json.loads(message)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            control.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())
            continue
        # A fork has only the thread that makes it.
        assert threading.active_count() == len(list(Path("/proc/self/task").iterdir())) == 1
        begun, begins = os.pipe()
        if (pid := os.fork()) == 0:
            control.close()
            os.close(begun)
            _become(Path(request["folder"]), files[0])
            os.close(begins)
            return [str(argument) for argument in request["arguments"]]
        os.close(files[0])
        os.close(begins)
        # The tests' process may end before the child runs. Only if it leads a session by then, it is ended too.
        os.read(begun, 1)
        os.close(begun)
        control.send(json.dumps(pid).encode())


def _become(folder: Path, output: int) -> None:
    """What :class:`subprocess.Popen` does between its fork and the program."""
    os.setsid()
    os.chdir(folder)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)


def main() -> int:
    gc.disable()
    for module in MODULES:
        import_module(module)
    gc.collect()
    # Each fork shares these objects, as long as its collector does not write to them.
    gc.freeze()
    gc.enable()
    arguments = serve(socket.socket(fileno=int(sys.argv[1])))
    # From here on this is a worker.
    command = sys.modules["workers.__main__"]
    sys.argv = [str(command.__file__), *arguments]
    return int(command.main())


if __name__ == "__main__":
    sys.exit(main())
