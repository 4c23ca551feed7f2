"""The program of :mod:`connector.io.backtracking`. It imports the standard library only.

A line of its input is ``{"limit": seconds, "patterns": [...], "names": [...]}``. For each pattern it writes a line with the places of the
names that the pattern matches. It ends with its input, or when one pattern has taken ``limit`` seconds of CPU.
"""

from __future__ import annotations

import json
import re
import signal
import sys


def main() -> None:
    """Answer until the input ends."""
    # The worker alone decides when this process ends; a terminal signals the whole group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        for pattern in asked["patterns"]:
            # Nobody handles the signal, so that the system ends the process, whatever the engine is doing.
            signal.setitimer(signal.ITIMER_PROF, asked["limit"])
            matches = re.compile(pattern).fullmatch
            found = [at for at, name in enumerate(asked["names"]) if matches(name)]
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main()
