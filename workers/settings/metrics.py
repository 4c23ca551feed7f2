"""The settings of metrics: whose rules name the series, and the ports of JMX exporter's agents in ``KAFKA_OPTS``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from connector.errors import CdcError, ErrorKind
from workers.rest.listeners import Listener
from workers.settings.converters import boolean

RULES: Final = "metrics.rules"
AGENT: Final = "metrics.agent"
"""``[HOST:]PORT:FILE``, the exporter's own form. The variable ``KAFKA_OPTS`` sets it."""
JOLOKIA: Final = "jolokia.enabled"
PER_TABLE: Final = "metrics.per.table"

_AGENT_OPTION: Final = re.compile(r"-javaagent:(?:.*/)?jmx_prometheus_javaagent[^/=]*\.jar=(.*)", re.DOTALL)
_AGENT_FORM: Final = re.compile(r"(?:(?P<host>[\w.-]+|\[[0-9a-fA-F:.]+\]):)?(?P<port>[0-9]{1,5}):(?P<file>.+)", re.DOTALL)
_ALL_ADDRESSES: Final = ("0.0.0.0", "[::]")  # noqa: S104


@dataclass(frozen=True, slots=True)
class MetricsAgent:
    """A port that serves only metrics, without a login, by the rules of ``file``, as JMX exporter's agent does."""

    listener: Listener
    file: str


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """``rules`` is ``debezium``, ``strimzi`` or the path of a rule file. ``jolokia`` says whether ``/jolokia`` exists.

    Without ``per_table`` the worker's own series have one sum in place of a series for each table and topic.
    """

    rules: str = "debezium"
    agent: MetricsAgent | None = None
    jolokia: bool = False
    per_table: bool = True

    @staticmethod
    def from_properties(properties: Mapping[str, str]) -> MetricsSettings:
        """Read ``properties``. Raises CdcError(CONFIG_INVALID)."""
        agent = properties.get(AGENT, "").strip()
        return MetricsSettings(
            properties.get(RULES, "").strip() or "debezium",
            _agent(agent) if agent else None,
            jolokia=boolean(properties, JOLOKIA, False),
            per_table=boolean(properties, PER_TABLE, True),
        )


def from_java_options(options: str) -> str | None:
    """The argument of JMX exporter's agent in a JVM's options; None without one."""
    try:
        words = shlex.split(options)
    except ValueError:
        words = options.split()
    found = [match[1] for word in words if (match := _AGENT_OPTION.fullmatch(word)) is not None]
    return found[-1] if found else None


def _agent(text: str) -> MetricsAgent:
    found = _AGENT_FORM.fullmatch(text)
    if found is None or int(found["port"]) > 65_535:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Invalid value {text} for the worker property {AGENT}",
            "Write it as PORT:FILE or HOST:PORT:FILE, as for -javaagent:jmx_prometheus_javaagent.jar in KAFKA_OPTS.",
        )
    host = found["host"] or ""
    return MetricsAgent(Listener("" if host in _ALL_ADDRESSES else host.strip("[]"), int(found["port"])), str(Path(found["file"])))
