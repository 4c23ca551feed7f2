"""Transforms that users write in Python (``type=package.module:Class``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from connector.plugins.allowed import AllowedPlugins
from connector.plugins.loading import configure, load
from connector.plugins.user_code import let_operator_through
from connector.record.connect_record import ConnectRecord, DataError


class RecordTransform(ABC):
    """Derive from this class, install the package beside the worker, and list it in the worker's ``plugin.packages``."""

    def configure(self, options: Mapping[str, str]) -> None:  # noqa: B027 (most need no options)
        """Take the step's options, without their prefix. Called once, before the first record."""

    @abstractmethod
    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """Return the record as it is to go on (:func:`dataclasses.replace` makes one), or None to drop it."""


class _Guarded:
    """Calls a user's transform and turns whatever it raises into a DataError, whose text names the type of the exception alone."""

    def __init__(self, transform: RecordTransform) -> None:
        self._transform = transform

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        try:
            found = self._transform.apply(record)
        except DataError:
            raise
        except BaseException as problem:  # noqa: BLE001 (a user's class may raise anything)
            let_operator_through(problem)
            raise DataError(f"it raised {type(problem).__name__}") from None
        if found is not None and not isinstance(found, ConnectRecord):
            raise DataError(f"it returned {type(found).__name__} instead of a ConnectRecord or None")
        return found


def custom_transform(name: str, options: Mapping[str, str], setting: str, allowed: AllowedPlugins) -> _Guarded:
    """Load and configure the class. Raises CdcError(CONFIG_INVALID)."""
    transform = load("transforms", name, RecordTransform, setting=setting, allowed=allowed)  # type: ignore[type-abstract]
    configure(transform.configure, options, f"Transform {name}")
    return _Guarded(transform)
