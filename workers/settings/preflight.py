"""The worker property ``preflight``: the effect of a finding in the database that Debezium would not report."""

from __future__ import annotations

from typing import Literal

Preflight = Literal["warn", "refuse", "off"]
"""``warn`` reports the finding, ``refuse`` refuses the configuration, ``off`` makes no checks beyond Debezium's."""
