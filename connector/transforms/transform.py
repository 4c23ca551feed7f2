"""What a transform is: a pure function over one record, made from its options (``org.apache.kafka.connect.transforms.Transformation``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from connector.configdef.key import Key
from connector.configdef.options import Options
from connector.record.connect_record import ConnectRecord


class Transform(Protocol):
    """Changes records one by one."""

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """Return the record as it is to go on, or None to drop it. Raises DataError."""


class SharesHeaders:
    """Base of transforms whose records have the headers of the record they were given, as some of Debezium's do, and not a copy.

    The event of a deleted row and the tombstone after it have the same headers in Debezium: what a transform adds to those of the first,
    the second has too, as long as no transform before it has copied them.
    """

    __slots__ = ()


class Predicate(Protocol):
    """Decides which records a transform applies to (KIP-585)."""

    def test(self, record: ConnectRecord) -> bool:
        """Whether the record is one of those."""


@dataclass(frozen=True, slots=True)
class TransformDefinition:
    """A transform's class name, its options as its ``ConfigDef`` lists them, and how it is made. ``make`` raises OptionError.

    ``keys`` hold the options of all emulated versions; a key's ``versions`` says which have it. ``versions`` are those that have the
    transform at all.
    """

    name: str
    keys: tuple[Key, ...]
    make: Callable[[Options], Transform]
    versions: tuple[str, ...]
    doc: str = ""
    """One sentence for docs/transforms.md."""
    refused_when_saved: bool = False
    """Options that it cannot be made of refuse the configuration. Otherwise they fail the task, as in Connect."""

    def keys_in(self, version: str) -> tuple[Key, ...]:
        """Return the options of an emulated version, each with its place in its group: where it has none of its own, it is counted."""
        counts: Counter[str] = Counter()
        found = []
        for key in self.keys:
            if version in key.versions:
                counts[key.group] += 1
                found.append(key if key.fixed_order else replace(key, fixed_order=counts[key.group]))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class PredicateDefinition:
    """The same for a predicate."""

    name: str
    keys: tuple[Key, ...]
    make: Callable[[Options], Predicate]
