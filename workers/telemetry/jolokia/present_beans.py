"""The MBeans that the requests of one body read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from workers.telemetry.loop_turns import Turn
from workers.telemetry.mbean import MBean, MBeanTable, separate
from workers.telemetry.name_pattern import NamePattern, canonical_name


class PresentBeans:
    """MBeans by their canonical names.

    They are taken when the first request needs them, and again only after an operation: it may have changed their values.
    """

    def __init__(self, each: Callable[[], Iterable[MBean | MBeanTable]], turn: Turn) -> None:
        self._each = each
        self._turn = turn
        self._found: Mapping[str, MBean] | None = None

    async def all(self) -> Mapping[str, MBean]:
        """Return all."""
        if self._found is None:
            found: dict[str, MBean] = {}
            for bean in separate(self._each()):
                found.setdefault(canonical_name(bean), bean)
                await self._turn.pass_on()
            self._found = found
        return self._found

    async def named(self, name: NamePattern) -> MBean | None:
        """Return the one with this name, which is no pattern."""
        return (await self.all()).get(name.canonical)

    async def matching(self, name: NamePattern) -> Mapping[str, MBean]:
        """Return those whose names match."""
        if not name.is_pattern:
            bean = await self.named(name)
            return {} if bean is None else {name.canonical: bean}
        found: dict[str, MBean] = {}
        for canonical, bean in (await self.all()).items():
            if name.matches(bean):
                found[canonical] = bean
            await self._turn.pass_on()
        return found

    def changed(self) -> None:
        """Forget the values."""
        self._found = None
