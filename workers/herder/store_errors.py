"""The answer of a REST call whose write to Kafka failed."""

from __future__ import annotations

from connect_api.herder import HerderError
from connector.errors import CdcError


class store_errors:  # noqa: N801 (used as a context manager only)
    """Turns the CdcError of a failed read or write of an internal topic into Connect's 500."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, problem: BaseException | None, _trace: object) -> None:
        if isinstance(problem, CdcError):
            raise HerderError(500, str(problem)) from problem
