"""The program of :mod:`connector.io.regex_process`. It imports the standard library only.

A line of its input is ``{"limit": seconds, "patterns": [...], "names": [...]}``. For each pattern it writes a line with the indexes of the
names that the pattern matches. It ends at the end of its input, or when one pattern has taken ``limit`` seconds of CPU time.
"""

from __future__ import annotations

import json
import re
import signal
import sys


def main() -> None:
    """Answer until the input ends."""
    # A terminal signals the whole process group, but only the worker decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        for pattern in asked["patterns"]:
            # The signal has no handler, so the operating system ends the process at any point of the match.
            signal.setitimer(signal.ITIMER_PROF, asked["limit"])
            matches = re.compile(pattern).fullmatch
            found = [at for at, name in enumerate(asked["names"]) if matches(name)]
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main()
