"""Which of the configuration's rules about single columns counts for a column, and what it does.

The rules are asked in the order truncation, asterisks, source type by column, source type by data type, hash, hash v2, and the
first one that names the column is the only one that counts: as recorded, a column whose type is propagated is not hashed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from connector.config import ConnectorConfig
from connector.config_families import ColumnMask
from connector.filters import COLUMN_DOTS
from connector.masks import Mask, mask_of
from connector.name_matcher import LongForm, NameMatcher
from connector.ports import Backtracking, no_backtracking
from connector.schema import Schema
from connector.source_types import source_type
from connector.table import CatalogTable
from connector.types.codec import Column, Types
from connector.types.registry import base_type

_BEFORE_TYPES: Final = ("truncate", "mask")
_AFTER_TYPES: Final = ("hash", "hash_v2")
_SHOWN: Final = {"truncate": "column.truncate", "mask": "column.mask", "hash": "column.mask.hash", "hash_v2": "column.mask.hash.v2"}


@dataclass(frozen=True, slots=True)
class _Rule:
    """``shown`` names the property for people; ``by_type`` when names to match end in the type and not in the column."""

    shown: str
    matches: NameMatcher
    mask: ColumnMask | None = None
    by_type: bool = False


class ColumnRules:
    """The rules of one connector. ``warn`` is told when a value stays readable that a rule was meant to hide."""

    def __init__(self, config: ConnectorConfig, warn: Callable[[str], None], backtrack: Backtracking = no_backtracking) -> None:
        self._version = config.version
        self._warn = warn
        self._long_form = LongForm(config.database_dbname, COLUMN_DOTS)
        self._backtrack = backtrack
        self._rules: list[_Rule] = self._masks(config, _BEFORE_TYPES)
        for name, patterns, by_type in (
            ("column.propagate.source.type", config.column_propagate_source_type, False),
            ("datatype.propagate.source.type", config.datatype_propagate_source_type, True),
        ):
            if patterns:
                self._rules.append(_Rule(name, self._matcher(patterns, name), by_type=by_type))
        self._rules += self._masks(config, _AFTER_TYPES)

    def _matcher(self, patterns: Sequence[str], key: str) -> NameMatcher:
        return NameMatcher(patterns, key, long_form=self._long_form, backtrack=self._backtrack)

    def _masks(self, config: ConnectorConfig, kinds: tuple[str, ...]) -> list[_Rule]:
        return [
            _Rule(_SHOWN[mask.kind], self._matcher(mask.columns, mask.key), mask)
            for kind in kinds
            for mask in config.column_masks
            if mask.kind == kind
        ]

    def __bool__(self) -> bool:
        """There are rules."""
        return bool(self._rules)

    def learn(self, names: Sequence[str]) -> None:
        """Decide about many columns (``schema.table.column``) at once."""
        for rule in self._rules:
            if not rule.by_type:
                rule.matches.learn(names)

    def apply(self, table: CatalogTable, column: Column, types: Types, value: Schema) -> tuple[Schema, Mask | None]:
        """The schema to show for a column whose values have the schema ``value``, and the mask when values change."""
        base, _modifier = base_type(column, types)
        if base is None:
            return value, None
        told = source_type(column, types, streamed=table.streamed)
        matching = [rule for rule in self._rules if rule.matches(f"{table.name}.{told.name if rule.by_type else column.name}")]
        if not matching:
            return value, None
        first, *passed = matching
        where = f"table={table.name} column={column.name}"
        for other in passed:
            if other.mask is not None:
                self._warn(f"column rule has no effect: {first.shown} names the column too and comes first {where} rule={other.shown}")
        if first.mask is None:
            return value.with_parameters(told.parameters(column.name, self._version)), None
        mask = mask_of(first.mask, base, told.length, value, self._version)
        if mask.idle and first.mask.kind != "truncate":
            self._warn(f"column is not masked: its type is no text {where} type={told.name}")
        if mask.parameter is not None:
            value = replace(value, parameters=(*value.parameters, mask.parameter))
        return value, None if mask.idle else mask
