"""The answer of a scrape: the worker's MBeans by a rule file (``metrics.rules``), and figures of the scrape and of the process."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from connector.errors import CdcError, ErrorKind
from connector.log import EventLog
from connector.ports import Backtracking
from workers.telemetry.mbean import MBean
from workers.telemetry.process_figures import process_families
from workers.telemetry.rules.evaluation import Family, RuleSet, plain_family
from workers.telemetry.rules.rule_file import RuleFile, RuleFileError, parse_rules
from workers.telemetry.rules.text_format import content_type, write

LOG: Final = EventLog(__name__)

BUILT_IN: Final = ("debezium", "strimzi")
"""The values of ``metrics.rules`` that name a rule file of this package."""
_LONGEST: Final = 4_194_304


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
    """Answers scrapes by one rule file. ``beans`` returns the present MBeans. ``ours`` returns families that no rule file names."""

    def __init__(self, rules: RuleFile, beans: Callable[[], Iterable[MBean]], ours: Callable[[], Iterable[Family]] = tuple) -> None:
        self._rules = RuleSet(rules)
        self._beans = beans
        self._ours = ours

    def __call__(self, accept: str, names: Collection[str] = ()) -> tuple[bytes, str]:
        """Return the body and its content type, which ``accept`` chooses. ``names`` limits the answer to these series (``name[]``)."""
        families = self._families()
        if names:
            families = (family for family in families if family.series in names)
        form = content_type(accept)
        return write(families, form), form

    def _families(self) -> Iterator[Family]:
        began = time.perf_counter()
        found = self._rules.families(self._beans())
        taken = {family.name for family in found}
        seconds = time.perf_counter() - began
        rest = [
            plain_family("jmx_scrape_duration_seconds", "gauge", "Time this scrape took, in seconds.", seconds),
            plain_family("jmx_scrape_error", "gauge", "Always 0.", 0.0),
            *process_families(),
            *self._ours(),
        ]
        yield from found
        yield from (family for family in rest if family.name not in taken)
