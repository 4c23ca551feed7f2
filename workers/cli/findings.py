"""What a check of a configuration found: for each finding the property, what is wrong, and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from connect_api.herder import ConfigValue
from connector.preflight.finding import LEAD

Severity = Literal["error", "warning"]

_SENTENCE: Final = re.compile(r"(?<=[\w)\]'\"`])\.\s+(?=[A-Z])")
"""The end of a sentence before another one."""
_CHOICES: Final = 12
"""The most values that a remedy lists."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about ``property``. An error refuses the configuration."""

    property: str
    severity: Severity
    what: str
    remedy: str

    def as_json(self) -> dict[str, str]:
        """The finding as a JSON object."""
        return asdict(self)


def of_values(values: Iterable[ConfigValue]) -> list[Finding]:
    """The findings of the worker's own validation; errors first."""
    return of_answer(
        [
            {"value": {"name": v.name, "errors": v.errors, "warnings": v.warnings, "recommended_values": v.recommended_values}}
            for v in values
        ]
    )


def of_answer(configs: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """The findings in ``configs`` of the answer of ``validate``; errors first. Kafka Connect's answer has no warnings."""
    found: list[Finding] = []
    for each in configs:
        value = each["value"]
        choices = value.get("recommended_values") or ()
        for severity, texts in (("error", value["errors"]), ("warning", value.get("warnings", ()))):
            found += [finding(value["name"], text, "error" if severity == "error" else "warning", choices) for text in texts]
    return sorted(found, key=lambda one: one.severity)


def finding(name: str, text: str, severity: Severity = "error", choices: Sequence[str] = ()) -> Finding:
    """Divide ``text``, which says what is wrong and then how to fix it. ``choices`` are the values that the property may have."""
    what, remedy = divided(text.removeprefix(LEAD).strip())
    if not remedy:
        listed = 0 < len(choices) <= _CHOICES
        remedy = f"Set {name} to one of {', '.join(choices)}." if listed else f"Correct {name} (`understudy docs config` describes it)."
    return Finding(name, severity, what, remedy)


def divided(text: str) -> tuple[str, str]:
    """The first sentence of ``text``, and the rest. In a single sentence a semicolon comes before the remedy."""
    end = _SENTENCE.search(text)
    if end is not None:
        return text[: end.start() + 1], text[end.end() :]
    what, semicolon, remedy = text.rpartition("; ")
    if semicolon:
        return f"{what}.", remedy[:1].upper() + remedy[1:].rstrip(".") + "."
    return text, ""
