"""Warnings of the core, as tests read them."""

from __future__ import annotations


class Warned(list[str]):
    """A :class:`connector.log.Warn` that keeps each warning as ``event field=value ...``."""

    def __call__(self, event: str, /, **fields: object) -> None:
        """Keep one."""
        self.append(" ".join([event, *(f"{name}={value}" for name, value in fields.items())]))


def no_warning(event: str, /, **fields: object) -> None:
    """A :class:`connector.log.Warn` where there is nothing to warn of."""
    raise AssertionError(f"Unexpected warning: {event} {fields}")
