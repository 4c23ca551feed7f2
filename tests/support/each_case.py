"""A table of cases as one test.

pytest spends 4 ms on each parametrized test, in collection, in reports and between processes: with the thousands of cases in tables that is
more than what they check takes. So a table is one test, which goes through all cases and names each that fails.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

import pytest

_SHOWN: Final = 5
"""Cases whose failure is shown in full."""
_Case = tuple[str, dict[str, Any]]
"""A case's label and its values."""


def each_case(
    names: str | tuple[str, ...], cases: Iterable[Any], *, ids: Callable[[Any], str] | Iterable[object] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a test as ``pytest.mark.parametrize(names, cases, ids=ids)`` does. It fails where any case does, or there is none.

    The test may be a coroutine function. All cases have the same fixtures; a test that changes them is parametrized instead. No case has
    marks or is skipped. Marks of the test are above its tables.
    """
    arguments = (names,) if isinstance(names, str) else names
    listed = list(cases)
    labels = [None] * len(listed) if ids is None or callable(ids) else [str(each) for each in ids]
    label_of = ids if callable(ids) else str
    table = [_case(case, arguments, label, label_of) for case, label in zip(listed, labels, strict=True)]

    def decorate(check: Callable[..., Any]) -> Callable[..., Any]:
        assert not getattr(check, "pytestmark", ()), "a mark below a table has no effect"
        if (inner := _DECORATED.get(check)) is None:
            return _test(check, arguments, table)
        combined = [(f"{label}-{other}", {**values, **more}) for label, values in table for other, more in inner.table]
        return _test(inner.check, arguments + inner.arguments, combined)

    return decorate


@dataclass(frozen=True, slots=True)
class _Decorated:
    check: Callable[..., Any]
    arguments: tuple[str, ...]
    table: Sequence[_Case]


_DECORATED: Final[dict[Callable[..., Any], _Decorated]] = {}
"""What was decorated, by the test that it became, so that a table above another one is combined with it."""


def _test(check: Callable[..., Any], arguments: tuple[str, ...], table: Sequence[_Case]) -> Callable[..., Any]:
    """One test of all cases."""

    def test(**fixtures: Any) -> None:
        failures = _Failures(len(table))
        for label, values in table:
            with failures.noted(label):
                check(**values, **fixtures)
        failures.throw()

    async def async_test(**fixtures: Any) -> None:
        failures = _Failures(len(table))
        for label, values in table:
            with failures.noted(label):
                await check(**values, **fixtures)
        failures.throw()

    made: Callable[..., Any] = async_test if inspect.iscoroutinefunction(check) else test
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(made, name, getattr(check, name))
    declared = inspect.signature(check)
    fixtures = [each for each in declared.parameters.values() if each.name not in arguments]
    made.__signature__ = declared.replace(parameters=fixtures)  # type: ignore[attr-defined]  # pytest asks for the fixtures in it
    _DECORATED[made] = _Decorated(check, arguments, table)
    return made


class _Failures:
    """The failures of a table's cases."""

    def __init__(self, cases: int) -> None:
        assert cases, "there is no case"
        self._cases = cases
        self._label = ""
        self._labels: list[str] = []
        self._failures: list[BaseException] = []

    def noted(self, label: str) -> _Failures:
        """A context in which the failure of this case is kept for later."""
        self._label = label
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: type[BaseException] | None, failure: BaseException | None, _traceback: TracebackType | None) -> bool:
        if not isinstance(failure, (Exception, pytest.fail.Exception, pytest.skip.Exception)):
            return False
        failure.add_note(f"in case {self._label}")
        self._labels.append(self._label)
        self._failures.append(failure)
        return True

    def throw(self) -> None:
        """Raise what was kept."""
        if self._failures:
            summary = f"{len(self._failures)} of {self._cases} cases failed: {', '.join(self._labels)}"
            raise BaseExceptionGroup(summary, self._failures[:_SHOWN])


def _case(case: Any, names: tuple[str, ...], label: str | None, label_of: Callable[[Any], str]) -> _Case:
    several = len(names) > 1
    if hasattr(case, "marks"):
        # pytest.param
        assert not case.marks, "a mark of one case has no effect"
        case, label = case.values if several else case.values[0], case.id or label
    values = tuple(case) if several else (case,)
    if label is None:
        label = "-".join(map(label_of, values))
    return label[:200], dict(zip(names, values, strict=True))
