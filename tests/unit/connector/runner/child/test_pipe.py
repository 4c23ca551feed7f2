"""What passes between a process and its children: log lines with their fields, failures without values, and the end."""

from __future__ import annotations

import asyncio
import logging
import pickle
from pathlib import Path

import pytest

from connector.errors import CdcError, ErrorKind
from connector.log import EventLog
from connector.runner.child.pipe import Failed, Logged
from connector.runner.child.process import ChildProcess, end_all
from connector.runner.child.side import Forwarding, failure_of

LOG = EventLog("connector.test_child_pipe")


@pytest.fixture
def forwarded() -> list[Logged]:
    return []


@pytest.fixture(autouse=True)
def child_s_log(forwarded: list[Logged], monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("connector.test_child_pipe")
    monkeypatch.setattr(logger, "handlers", [Forwarding(forwarded.append)])
    monkeypatch.setattr(logger, "propagate", False)


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def raised(problem: Exception) -> Exception:
    """The same with a traceback."""
    try:
        raise problem
    except type(problem) as error:
        return error


def test_a_line_keeps_its_event_and_its_fields(forwarded: list[Logged], monkeypatch: pytest.MonkeyPatch) -> None:
    LOG.warning("100% of a table read", table="public.a", rows=3, folder=Path("/tmp/x"), password="p", none=None)
    [line] = pickle.loads(pickle.dumps(forwarded))
    assert (line.logger, line.level, line.event) == ("connector.test_child_pipe", logging.WARNING, "100% of a table read")
    assert line.fields == {"table": "public.a", "rows": 3, "folder": "/tmp/x", "password": "p", "none": None}
    kept = Kept()
    monkeypatch.setattr(logging.getLogger(line.logger), "handlers", [kept])
    line.write()
    [written] = kept.records
    assert (written.name, written.levelno, written.getMessage()) == (line.logger, line.level, line.event)
    # By its name the formatter knows that the password must not be shown.
    assert written.__dict__["fields"] == line.fields


def test_of_an_exception_only_the_type_is_forwarded(forwarded: list[Logged]) -> None:
    LOG.error("row cannot be read", cause=raised(ValueError("a value of a row")))
    assert forwarded[0].fields == {"exception": "ValueError"}
    assert "a value of a row" not in repr(forwarded)


def test_a_failure_that_was_foreseen_arrives_as_it_was() -> None:
    problem = CdcError(ErrorKind.SOURCE_QUERY, "What", "Remedy", "detail")
    assert pickle.loads(pickle.dumps(failure_of(problem, "instead"))).error == problem


def test_an_unexpected_failure_shows_no_value() -> None:
    failed = failure_of(raised(ValueError("a value of a row")), "instead")
    assert "a value of a row" not in repr(failed)
    assert "ValueError" in failed.message
    assert failed == Failed("internal", failed.message, "Report it; instead", "")


async def test_a_child_that_cannot_be_started_is_a_failure_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
    with pytest.raises(CdcError, match="A child could not be started: Resource temporarily unavailable") as failure:
        await ChildProcess.start("x", "A child", instead="do without", after="")
    assert failure.value.remedy == "Raise the limit of processes or of memory, or do without"


@pytest.mark.parametrize("group", [False, True])
async def test_a_child_that_does_not_end_by_itself_is_killed(monkeypatch: pytest.MonkeyPatch, group: bool) -> None:
    # Reads its socket no more than this program does.
    monkeypatch.setattr("connector.runner.child.process.python_command", lambda *_: ["sleep", "600"])
    child = await ChildProcess.start("x", "A child", instead="", after="", group=group)
    await end_all([child], 0)
    assert child.process.returncode == -9
    assert "was killed by SIGKILL" in (await child.lost()).message
