"""The parts of records that say when, and from which place, a change was read: they differ between any two readers of one change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from connector.config.keys import select_version
from connector.configdef.options import OptionError
from connector.emulation import emulation_of
from connector.transforms.debezium.differences import differences_of
from connector.transforms.debezium.new_record_state.field_reference import FieldReference
from connector.transforms.steps import listed

_TIMES: Final = frozenset({"ts_ms", "ts_us", "ts_ns"})
_PLACES: Final = frozenset({"sequence", "xmin"})
_EVENT: Final = frozenset({*_TIMES, *(f"source.{name}" for name in _PLACES)})
_UNWRAP: Final = "ExtractNewRecordState"


@dataclass(frozen=True, slots=True)
class ReaderFields:
    """Paths of a value's members, and names of headers."""

    members: frozenset[str] = _EVENT
    headers: frozenset[str] = frozenset()

    @staticmethod
    def of(config: Mapping[str, str]) -> ReaderFields:
        """Those of a connector's events, and those that its ``ExtractNewRecordState`` adds to rows and headers under names of their own."""
        unwraps = [
            f"transforms.{alias}." for alias in listed(config, "transforms") if config.get(f"transforms.{alias}.type", "").endswith(_UNWRAP)
        ]
        members, headers = (
            frozenset(name for prefix in unwraps for name in _added(config, prefix, kind)) for kind in ("add.fields", "add.headers")
        )
        return ReaderFields(_EVENT | members, headers)


def _added(config: Mapping[str, str], prefix: str, kind: str) -> Iterator[str]:
    differences = differences_of(emulation_of(select_version(config.get("connector.plugin.version"))))
    before = config.get(f"{prefix}{kind}.prefix", "__")
    for entry in filter(None, (each.strip() for each in config.get(prefix + kind, "").split(","))):
        try:
            found = FieldReference.parse(before, entry, differences)
        except OptionError:
            # The configuration is refused for it.
            continue
        if (found.struct is None and found.field in _TIMES) or (found.struct == "source" and found.field in _PLACES):
            yield found.new_name
