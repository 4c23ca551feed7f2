"""The configuration's rules about single columns: which rule applies to a column, and its effect.

The order of the rules is: truncation, asterisks, source type by column, source type by data type, hash, hash v2. Only the first rule that
names the column applies. As recorded from Debezium, a column whose source type is propagated is therefore not hashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from connector.catalog.filters import COLUMN_DOTS
from connector.catalog.name_matcher import NameMatcher
from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig
from connector.config.packed import ColumnMask
from connector.events.masks import Mask, mask_of
from connector.log import Warn
from connector.record.schema import Schema
from connector.types.codec import Column, Types
from connector.types.driver_names import source_type
from connector.types.registry import base_type

_BEFORE_TYPES: Final = ("truncate", "mask")
_AFTER_TYPES: Final = ("hash", "hash_v2")
_SHOWN: Final = {"truncate": "column.truncate", "mask": "column.mask", "hash": "column.mask.hash", "hash_v2": "column.mask.hash.v2"}


@dataclass(frozen=True, slots=True)
class _Rule:
    """One rule. ``shown`` is the property's name for messages; ``by_type`` says that the patterns match type names, not column names."""

    shown: str
    matches: NameMatcher
    mask: ColumnMask | None = None
    by_type: bool = False


class ColumnRules:
    """The rules of one connector. ``warn`` logs that a rule to hide a value has no effect."""

    def __init__(self, selection: Selection, warn: Warn) -> None:
        config = selection.config
        self._emulation = config.emulation
        self._warn = warn
        self._selection = selection
        self._rules: list[_Rule] = self._masks(config, _BEFORE_TYPES)
        for name, patterns, by_type in (
            ("column.propagate.source.type", config.column_propagate_source_type, False),
            ("datatype.propagate.source.type", config.datatype_propagate_source_type, True),
        ):
            if patterns:
                self._rules.append(_Rule(name, self._matcher(patterns, name), by_type=by_type))
        self._rules += self._masks(config, _AFTER_TYPES)

    def _matcher(self, patterns: Sequence[str], key: str) -> NameMatcher:
        return self._selection.matcher(patterns, key, dots=COLUMN_DOTS)

    def _masks(self, config: ConnectorConfig, kinds: tuple[str, ...]) -> list[_Rule]:
        return [
            _Rule(_SHOWN[mask.kind], self._matcher(mask.columns, mask.key), mask)
            for kind in kinds
            for mask in config.column_masks
            if mask.kind == kind
        ]

    def __bool__(self) -> bool:
        """Return whether there are rules."""
        return bool(self._rules)

    def learn(self, names: Sequence[str]) -> None:
        """Match many columns (``schema.table.column``) at once."""
        for rule in self._rules:
            if not rule.by_type:
                rule.matches.learn(names)

    def apply(self, table: CatalogTable, column: Column, types: Types, value: Schema) -> tuple[Schema, Mask | None]:
        """Return the schema and the mask of a column whose values have the schema ``value``; None if no rule changes its values."""
        base, _modifier = base_type(column, types)
        if base is None:
            return value, None
        source = source_type(column, types, self._emulation, streamed=table.streamed)
        matching = [rule for rule in self._rules if rule.matches(f"{table.name}.{source.name if rule.by_type else column.name}")]
        if not matching:
            return value, None
        first, *passed = matching
        for other in passed:
            if other.mask is not None:
                reason = f"{first.shown} names the column too and comes first"
                self._warn("column rule has no effect", table=table.name, column=column.name, rule=other.shown, reason=reason)
        if first.mask is None:
            return value.with_parameters(source.parameters(column.name, self._emulation)), None
        mask = mask_of(first.mask, base, source.length, value, self._emulation)
        if mask.idle and first.mask.kind != "truncate":
            self._warn("column is not masked", table=table.name, column=column.name, type=source.name, reason="its type is not a text type")
        if mask.parameter is not None:
            value = replace(value, parameters=(*value.parameters, mask.parameter))
        return value, None if mask.idle else mask
