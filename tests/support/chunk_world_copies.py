"""Copies of the worlds of :mod:`tests.support.chunk_model`, so that paths with a common beginning go through it once."""

from __future__ import annotations

import pickle
from io import BytesIO
from types import FunctionType
from typing import Any, Final, cast

from connector.catalog.table import CatalogTable
from connector.emulation import Emulation
from connector.events.encoders import TableEncoder
from connector.events.envelope import TableSource
from connector.events.stream_settings import StreamSettings
from connector.record.schema import Schema
from connector.types.codec import TypeInfo

from .chunk_model import World

_CONSTANT: Final = (type, FunctionType, CatalogTable, Emulation, Schema, StreamSettings, TableEncoder, TableSource, TypeInfo)
_shared: Final[dict[int, object]] = {}


def saved(world: World) -> bytes:
    """Return the state of the world, for :func:`restored`."""
    written = BytesIO()
    _Writer(written, pickle.HIGHEST_PROTOCOL).dump(world)
    return written.getvalue()


def restored(state: bytes) -> World:
    """Return a world of its own in this state."""
    return cast("World", pickle.loads(state))


def _same(number: int) -> object:
    return _shared[number]


class _Writer(pickle.Pickler):
    """Leaves out what never changes and is made once, as the tables' encoders: all worlds have the same."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) not in _CONSTANT or value is _same:
            return NotImplemented
        assert getattr(value, "__closure__", None) is None, "a function with variables would connect the worlds"
        _shared[id(value)] = value
        return _same, (id(value),)
