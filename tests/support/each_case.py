"""A table of cases as one test.

pytest spends 5 ms on each parametrized test, in collection, in reports and between processes: with the thousands of recorded cases that is
more than what they check takes. So a table is one test, which goes through all cases and names each that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

_SHOWN: Final = 5
"""Cases whose failure is shown in full."""


def each_case(
    names: str | tuple[str, ...], cases: Iterable[Any], *, ids: Callable[[Any], str] | None = None
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Decorate a test as ``pytest.mark.parametrize(names, cases, ids=ids)`` does. It fails where any case does, or there is none."""
    arguments = (names,) if isinstance(names, str) else names
    table = [_case(case, len(arguments), ids) for case in cases]

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            assert table, "there is no case"
            failures: list[BaseException] = []
            for label, values in table:
                try:
                    check(**dict(zip(arguments, values, strict=True)))
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 - each is raised below
                    failure.add_note(f"in case {label}")
                    failures.append(failure)
            if failures:
                failed = ", ".join(failure.__notes__[-1].removeprefix("in case ") for failure in failures)
                raise BaseExceptionGroup(f"{len(failures)} of {len(table)} cases failed: {failed}", failures[:_SHOWN])

        test.__name__ = check.__name__
        test.__doc__ = check.__doc__
        test.__module__ = check.__module__
        return test

    return decorate


def _case(case: Any, number: int, ids: Callable[[Any], str] | None) -> tuple[str, tuple[Any, ...]]:
    """A case's label and its values."""
    label = None
    if hasattr(case, "marks"):
        # pytest.param
        case, label = case.values if number > 1 else case.values[0], case.id
    values = tuple(case) if number > 1 else (case,)
    if label is None:
        label = "-".join(str(each) if ids is None else ids(each) for each in values)
    return label[:200], values
