"""Converters that users write in Python (``value.converter=package.module:Class``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from connector.converters.converter import Converted, Converter, HeaderConverter
from connector.plugins.allowed import AllowedPlugins
from connector.plugins.loading import configure, load
from connector.plugins.user_code import let_operator_through
from connector.record.connect_record import DataError, Header
from connector.record.schema import Schema


class RecordConverter(ABC):
    """Derive from this class, install the package beside the worker, and list it in the worker's ``plugin.packages``."""

    def configure(self, options: Mapping[str, str]) -> None:  # noqa: B027 (most need no options)
        """Take the converter's options, without their prefix, and ``converter.type``: key, value or header. Called once."""

    @abstractmethod
    def to_bytes(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of one key, value or header; None for null."""


class _Guarded:
    """Calls a user's converter and turns whatever it raises into a DataError, whose text names the type of the exception alone."""

    def __init__(self, converter: RecordConverter) -> None:
        self._converter = converter

    def to_bytes(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        try:
            found = self._converter.to_bytes(topic, schema, value)
        except DataError:
            raise
        except BaseException as problem:  # noqa: BLE001 (a user's class may raise anything)
            let_operator_through(problem)
            raise DataError(f"it raised {type(problem).__name__}") from None
        if found is not None and not isinstance(found, bytes):
            raise DataError(f"it returned {type(found).__name__} instead of bytes or None")
        return found


class _Converter(_Guarded):
    def convert(self, topic: str, schema: Schema | None, value: Any, headers: Sequence[Header]) -> Converted:  # noqa: ARG002
        return Converted(self.to_bytes(topic, schema, value))


class _HeaderConverter(_Guarded):
    def convert(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:  # noqa: ARG002
        return self.to_bytes(topic, schema, value)


def custom_converter(name: str, options: Mapping[str, str], setting: str, allowed: AllowedPlugins, *, is_key: bool) -> Converter:
    """Load and configure the class. Raises CdcError(CONFIG_INVALID)."""
    return _Converter(_loaded(name, {**options, "converter.type": "key" if is_key else "value"}, setting, allowed))


def custom_header_converter(name: str, options: Mapping[str, str], setting: str, allowed: AllowedPlugins) -> HeaderConverter:
    """Load and configure the class. Raises CdcError(CONFIG_INVALID)."""
    return _HeaderConverter(_loaded(name, {**options, "converter.type": "header"}, setting, allowed))


def _loaded(name: str, options: Mapping[str, str], setting: str, allowed: AllowedPlugins) -> RecordConverter:
    converter = load("record_converters", name, RecordConverter, setting=setting, allowed=allowed)  # type: ignore[type-abstract]
    configure(converter.configure, options, f"Converter {name}")
    return converter
