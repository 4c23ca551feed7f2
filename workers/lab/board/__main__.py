"""``python -m workers.lab.board BOARD PICTURE``: draw a Grafana board's panels from a running Prometheus."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import httpx

from workers.lab.board.answers import UnansweredError, lines_of
from workers.lab.board.panels import panels_of
from workers.lab.board.picture import picture


def main(arguments: list[str] | None = None) -> int:
    """Draw. Returns the exit code: 0, or 1 with a message when the board or the Prometheus cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m workers.lab.board", description=__doc__)
    parser.add_argument("board", type=Path, help="the JSON of the board")
    parser.add_argument("picture", type=Path, help="the SVG file to write")
    parser.add_argument("--prometheus", default="http://127.0.0.1:9090", help="its address")
    parser.add_argument("--end", type=float, help="the end of the picture, in seconds since 1970; without it now")
    parser.add_argument("--seconds", type=float, default=900.0, help="how far back from there the picture reaches")
    parser.add_argument("--step", type=float, default=5.0, help="seconds between two values")
    parser.add_argument("--interval", default="15s", help="what $__rate_interval stands for")
    chosen = parser.parse_args(arguments)
    end = time.time() if chosen.end is None else chosen.end
    try:
        board = json.loads(chosen.board.read_text(encoding="utf-8"))
        panels = panels_of(board, {"__rate_interval": chosen.interval, "connector": ".*"})
        with httpx.Client(base_url=chosen.prometheus) as client:
            drawn = [(panel, lines_of(panel, client, end - chosen.seconds, end, chosen.step)) for panel in panels]
    except (OSError, ValueError, KeyError, UnansweredError) as error:
        sys.stderr.write(f"No picture: {error}\n")
        return 1
    chosen.picture.write_text(picture(drawn, board["title"]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
