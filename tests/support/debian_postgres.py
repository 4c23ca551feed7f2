"""The PostgreSQL servers that Debian's packages installed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from workers.quickstart.embedded.programs import Programs, programs_in

FOLDER: Final = Path("/usr/lib/postgresql")


def debian_programs() -> list[Programs]:
    """The servers, newest first; empty when there are none."""
    found = [programs_in(place.parent, place.parents[1]) for place in FOLDER.glob("*/bin/initdb")]
    return sorted(found, key=lambda programs: programs.major, reverse=True)
