"""Reads JSON that people give to commands, as strictly as a worker reads it."""

from __future__ import annotations

import json
from typing import Any

import orjson

from connect_api.bodies import DEPTH, deeper


def read_json(text: str | bytes) -> Any:
    """Return the value. Raises ValueError for text that is not JSON, and for values that no worker takes.

    These are numbers without bounds such as ``1e999``, unpaired surrogates, and too many levels of objects and arrays.
    """
    if deeper(orjson.loads(text), DEPTH):
        raise ValueError(f"more than {DEPTH} levels of objects and arrays")
    # orjson makes floats of integers that have more than 64 bits, and the worker judges these.
    return json.loads(text)
