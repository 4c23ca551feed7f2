"""Cases by their numbers."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.differential.transforms.configurations import ConfigurationMaker
from tests.differential.transforms.records import RecordMaker


def case(seed: int, number: int, version: str, only: str | None = None) -> dict[str, Any]:
    """Return the configuration and the records of this seed and number.

    ``version`` is Debezium's. ``only``: of transforms whose class name contains this.
    """
    random = Random(f"{seed} {number}")
    maker = RecordMaker(random)
    records = [maker.record() for _ in range(random.choice((2, 4, 6)))]
    return {"config": ConfigurationMaker(random, records, version, only).configuration(), "records": records}
