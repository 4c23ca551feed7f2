"""The values of the worker property ``log.format``."""

from __future__ import annotations

from typing import Literal

LogFormat = Literal["text", "json"]
