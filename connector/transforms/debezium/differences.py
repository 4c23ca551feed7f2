"""How Debezium's transforms differ between the emulated versions. Every difference was recorded from the version itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_6_3, DEBEZIUM_3_7_0, Emulation


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """What one emulated version does. A flag is True where the version does what the name says."""

    # ExtractNewRecordState
    names_delete_and_tombstone_together: bool
    """One option says what happens to deletes and tombstones. Otherwise there are two."""
    rewrites_first: bool
    """``__deleted`` comes before added fields, and what follows (routing, dropping of fields) sees it and applies to deleted rows too."""
    envelope_fields: frozenset[str]
    """Names that mean a field of the envelope. Others mean the transaction's or the source's."""
    routes_to_empty_topic: bool
    """An empty or blank value of ``route.by.field`` is the topic. Otherwise the topic stays."""
    checks_drop_options: bool
    """Wrong values of the options of dropped fields are refused. Otherwise they mean the default."""
    may_keep_nulls: bool
    """``replace.null.with.default`` has an effect. Otherwise a rewritten row has the defaults always."""

    # ExtractChangedRecordState
    adds_empty_lists: bool
    """Events without one of the two rows have headers with empty lists. Otherwise they have none."""
    compares_defaults: bool
    """A null counts as the default of its column."""
    compares_contents: bool
    """Bit strings are compared by content, and a column that only one of the rows has counts as changed. Otherwise it fails the record, or
    does not count."""

    # ByLogicalTableRouter
    fills_defaults: bool
    """Nulls in routed rows and keys become the defaults of their columns."""
    needs_before: bool
    """Events without a field ``before`` fail."""
    routes_to_destinations: bool
    """The size of the router's cache is ``logical.destination.cache.size``. The former name counts where this one is not set."""

    # EventRouter
    trims_placements: bool
    """Blanks around fields and placements are removed. Otherwise those before and after a field belong to its name."""
    may_miss_fields: bool
    """``table.field.additional.missing`` has an effect."""
    may_keep_empty_arrays: bool
    """``table.json.payload.empty.array.behavior`` has an effect. Otherwise empty arrays are left out."""
    adjusts_payload_names: bool
    """``field.name.adjustment.mode`` has an effect."""
    names_nested_arrays_null: bool
    """Structs below an array of arrays have names that begin with ``null.``."""

    # PartitionRouting
    skips_null_structs: bool
    """A field of a struct that is null does not count. Otherwise the record fails."""


_UNTIL_2: Final = Differences(
    names_delete_and_tombstone_together=False,
    rewrites_first=False,
    envelope_fields=frozenset({"op", "ts_ms"}),
    routes_to_empty_topic=True,
    checks_drop_options=False,
    may_keep_nulls=False,
    adds_empty_lists=False,
    compares_defaults=True,
    compares_contents=False,
    fills_defaults=True,
    needs_before=True,
    routes_to_destinations=False,
    trims_placements=False,
    may_miss_fields=False,
    may_keep_empty_arrays=False,
    adjusts_payload_names=False,
    names_nested_arrays_null=True,
    skips_null_structs=False,
)
_SINCE_3: Final = Differences(
    names_delete_and_tombstone_together=True,
    rewrites_first=True,
    envelope_fields=frozenset({"op", "ts_ms", "ts_us", "ts_ns"}),
    routes_to_empty_topic=False,
    checks_drop_options=True,
    may_keep_nulls=True,
    adds_empty_lists=True,
    compares_defaults=False,
    compares_contents=False,
    fills_defaults=False,
    needs_before=True,
    routes_to_destinations=False,
    trims_placements=True,
    may_miss_fields=True,
    may_keep_empty_arrays=False,
    adjusts_payload_names=True,
    names_nested_arrays_null=False,
    skips_null_structs=False,
)
_DIFFERENCES: Final = {
    DEBEZIUM_2_3_4.version: _UNTIL_2,
    DEBEZIUM_3_6_3.version: _SINCE_3,
    DEBEZIUM_3_7_0.version: replace(
        _SINCE_3,
        compares_contents=True,
        needs_before=False,
        routes_to_destinations=True,
        may_keep_empty_arrays=True,
        skips_null_structs=True,
    ),
}


def differences_of(emulation: Emulation) -> Differences:
    """Return what the emulated version does."""
    return _DIFFERENCES[emulation.version]
