"""The answer of a scrape: the worker's MBeans by a rule file (``metrics.rules``), and figures of the scrape and of the process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final

from connector.errors import CdcError, ErrorKind
from connector.log import EventLog
from connector.ports import Backtracking
from workers.telemetry.mbean import MBean, MBeanTable
from workers.telemetry.own.text_family import TextFamily
from workers.telemetry.process_figures import process_families
from workers.telemetry.rules.evaluation import RuleSet
from workers.telemetry.rules.family import Family, plain_family
from workers.telemetry.rules.rule_file import RuleFile, RuleFileError, parse_rules
from workers.telemetry.rules.text_format import content_type, ending, text_of

LOG: Final = EventLog(__name__)

BUILT_IN: Final = ("debezium", "strimzi")
"""The values of ``metrics.rules`` that name a rule file of this package."""
_LONGEST: Final = 4_194_304
_TURN_S: Final = 0.005
"""How long a scrape works before it lets other asyncio tasks run, the time of one burst of events."""


def load_rules(named: str, backtrack: Backtracking) -> RuleFile:
    """Read the rules that ``metrics.rules`` names. Raises CdcError(CONFIG_INVALID) for a file that cannot be used."""
    path = Path(__file__).with_name("rules") / f"{named}.yml" if named in BUILT_IN else Path(named)
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_LONGEST + 1)
        if len(text) > _LONGEST:
            raise RuleFileError(f"it is longer than {_LONGEST} characters")
        found = parse_rules(text, backtrack)
    except OSError as problem:
        raise _unusable(named, problem.strerror or type(problem).__name__) from problem
    except ValueError as problem:
        raise _unusable(named, str(problem)) from problem
    if named == "strimzi":
        # The board asks for the ending, for which the exporter needs rules with a type. Rules without one lose it: both names exist.
        found = replace(found, keeps_totals=True)
    if found.idle:
        LOG.info("keys of the metrics rules without an effect here", file=str(path), names=",".join(found.idle))
    return found


def _unusable(named: str, reason: str) -> CdcError:
    return CdcError(
        ErrorKind.CONFIG_INVALID,
        f"The rules of metrics {named} cannot be used: {reason}",
        f"Correct the file, or set the worker property metrics.rules to one of {', '.join(BUILT_IN)}.",
    )


class Exposition:
    """Answers scrapes by one rule file.

    ``beans`` returns the present MBeans. ``ours`` returns families that no rule file names. ``fresh`` is awaited before them. ``renewed``
    is awaited before each scrape; the rules that it returns replace the former ones. ``spent`` is called with the CPU seconds of each
    turn of a scrape.
    """

    def __init__(
        self,
        rules: RuleFile,
        beans: Callable[[], Iterable[MBean | MBeanTable]],
        ours: Callable[[], Iterable[Family | TextFamily]] = tuple,
        fresh: Callable[[], Awaitable[None]] | None = None,
        renewed: Callable[[], Awaitable[RuleFile | None]] | None = None,
        spent: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self._rules = RuleSet(rules)
        self._beans = beans
        self._ours = ours
        self._fresh = fresh
        self._renewed = renewed
        self._spent = spent
        self._turn = asyncio.Lock()
        """Held by a scrape: the first one evaluates each rule, and a second one beside it would repeat that."""

    async def scrape(self, accept: str, names: Collection[str] = ()) -> tuple[bytes, str]:
        """Return the body and its content type, which ``accept`` chooses. ``names`` limits the answer to these series (``name[]``).

        With many connectors that is long work for an event loop that passes events on, so it lets others run each few milliseconds.
        """
        if self._fresh is not None:
            await self._fresh()
        async with self._turn:
            if self._renewed is not None and (rules := await self._renewed()) is not None:
                self._rules = RuleSet(rules)
            form = content_type(accept)
            parts: list[bytes] = []
            since, cpu = time.perf_counter(), time.thread_time()
            for part in self._parts(form, names):
                parts.append(part)
                if time.perf_counter() - since > _TURN_S:
                    self._spent(time.thread_time() - cpu)
                    await asyncio.sleep(0)
                    since, cpu = time.perf_counter(), time.thread_time()
            body = b"".join(parts)
            self._spent(time.thread_time() - cpu)
        return body, form

    def __call__(self, accept: str, names: Collection[str] = ()) -> tuple[bytes, str]:
        """Return the same at once."""
        form = content_type(accept)
        return b"".join(self._parts(form, names)), form

    def _parts(self, form: str, names: Collection[str]) -> Iterator[bytes]:
        """Yield the text, and between its parts empty texts after pieces of the work."""
        began = time.perf_counter()
        steps = self._rules.steps(self._beans())
        while True:
            try:
                next(steps)
            except StopIteration as end:
                found: list[Family] = end.value
                break
            yield b""
        taken = {family.name for family in found}
        seconds = time.perf_counter() - began
        rest: list[Family | TextFamily] = [
            plain_family("jmx_scrape_duration_seconds", "gauge", "Time this scrape took, in seconds.", seconds),
            plain_family("jmx_scrape_error", "gauge", "Always 0.", 0.0),
            *process_families(),
        ]
        families = chain(found, (each for each in chain(rest, self._ours()) if each.name not in taken))
        for family in families:
            yield text_of(family, form) if not names or family.named(names) else b""
        yield ending(form)
