"""An MBean: a named set of attributes and operations, as Java's JMX shows Kafka's and Debezium's metrics.

Understudy has no JMX. It fills the same names and attributes, so that the rules, dashboards and checks that teams have for the original
apply to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Attribute = str | int | float | bool | None | Sequence["Attribute"] | Mapping[str, "Attribute"]
"""The value of an attribute: a scalar, a list, or a map (JMX's TabularData)."""


class OperationError(Exception):
    """An operation that could not be executed. The text says why."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation without a result. ``parameters`` are Java types. ``call`` takes their values, and may raise :class:`OperationError`."""

    name: str
    parameters: tuple[str, ...]
    call: Callable[..., None]


class MBean(NamedTuple):
    """One MBean at one moment. Thousands of them are made for a scrape, and a tuple is made four times as fast as a frozen dataclass.

    ``keys`` are the key properties in the order in which the original creates its ObjectName, which is the order that JMX exporter's rules
    see (``domain<key=value, key=value>``).
    """

    domain: str
    keys: tuple[tuple[str, str], ...]
    attributes: Mapping[str, Attribute]
    operations: tuple[Operation, ...] = ()

    @property
    def name(self) -> str:
        """The ObjectName with its keys in creation order, such as ``kafka.connect:type=connect-worker-metrics``."""
        return f"{self.domain}:{','.join(f'{key}={value}' for key, value in self.keys)}"


class MBeanTable(NamedTuple):
    """MBeans with the same attributes, all of them numbers, such as those of a producer's topics.

    Thousands of them may change between two scrapes, and columns of numbers are compared and written several times as fast as MBeans.
    A list that is part of a table never changes: the next table has other lists for what is different.
    """

    domain: str
    keys: Sequence[tuple[tuple[str, str], ...]]
    """The key properties of each MBean."""
    columns: Mapping[str, Sequence[float]]
    """The values of each attribute, in the order of the MBeans."""

    def beans(self) -> Iterator[MBean]:
        """Yield the MBeans."""
        for keys, values in zip(self.keys, zip(*self.columns.values(), strict=True), strict=True):
            yield MBean(self.domain, keys, dict(zip(self.columns, values, strict=True)))


def separate(found: Iterable[MBean | MBeanTable]) -> Iterator[MBean]:
    """Yield MBeans, and those of tables one by one."""
    for each in found:
        if isinstance(each, MBeanTable):
            yield from each.beans()
        else:
            yield each
