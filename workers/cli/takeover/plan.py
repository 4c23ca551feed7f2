"""What happens to one connector of a Kafka Connect cluster when Understudy takes it over. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from connector.catalog.selection import Selection
from connector.config.connector_config import ConnectorConfig
from connector.config.keys import BY_NAME, family_of
from connector.config.keys.aliases import ALIASES
from connector.delivery.offsets import StoredOffset
from connector.errors import CdcError
from connector.preflight.slot_health import SlotHealth
from connector.start.decision import decide
from connector.wire.lsn import format_lsn
from workers.cli.findings import Finding
from workers.cli.takeover.cluster_state import StoredConnector
from workers.herder.plugins import ALIASES as CONNECTOR_CLASSES

Verdict = Literal["resumes", "snapshot", "finished", "stops", "refused", "other class", "unknown"]
BLOCKING: Final[frozenset[Verdict]] = frozenset({"stops", "refused", "other class", "unknown"})
"""Verdicts about which an operator must do something before the migration."""

_IN_USE: Final = "is in use by"


@dataclass(frozen=True, slots=True)
class Slot:
    """The connector's replication slot. ``behind_offset``: bytes from the slot's confirmed position to the offset; None without both."""

    name: str
    exists: bool
    active: bool = False
    holder: str = ""
    plugin: str = ""
    wal_status: str = ""
    confirmed: str = ""
    behind_offset: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The slot as a JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens to a connector: the verdict, its reason, and what to do about it."""

    name: str
    connector_class: str
    state: str
    """The state in the status topic; where there is none, the wanted one."""
    verdict: Verdict
    why: str
    remedy: str = ""
    offset: Mapping[str, object] | None = None
    slot: Slot | None = None
    findings: Sequence[Finding] = ()
    without_effect: Sequence[str] = ()
    """Properties that have no effect on Understudy."""
    unknown: Sequence[str] = ()
    """Properties that neither Debezium nor Understudy knows."""

    @property
    def blocks(self) -> bool:
        """Whether an operator must act before the migration."""
        return self.verdict in BLOCKING

    def as_json(self) -> dict[str, Any]:
        """The plan as a JSON object."""
        return {
            "name": self.name,
            "class": self.connector_class,
            "state": self.state,
            "verdict": self.verdict,
            "why": self.why,
            "remedy": self.remedy,
            "offset": self.offset,
            "slot": None if self.slot is None else self.slot.as_json(),
            "findings": [one.as_json() for one in self.findings],
            "without_effect": list(self.without_effect),
            "unknown": list(self.unknown),
        }


def is_ours(stored: StoredConnector) -> bool:
    """Whether the connector is Debezium's for PostgreSQL."""
    return stored.config.get("connector.class") in CONNECTOR_CLASSES


def state_of(stored: StoredConnector) -> str:
    """The worst state of the connector and its tasks, else the wanted one."""
    if "FAILED" in stored.states:
        return "FAILED"
    return stored.states[0] if stored.states else stored.target


def other_class(stored: StoredConnector) -> Plan:
    """The plan of a connector that Understudy does not run."""
    name = stored.config.get("connector.class", "")
    return Plan(
        stored.name,
        name,
        state_of(stored),
        "other class",
        "It would be FAILED here. Its configuration and its offsets are kept.",
        "Move it to a Connect cluster with its own group.id and internal topics first (`understudy docs migrating`).",
    )


def refused(stored: StoredConnector, found: Sequence[Finding]) -> Plan:
    """The plan of a connector whose configuration is refused. ``found`` has at least one error."""
    errors = [one for one in found if one.severity == "error"]
    plan = Plan(
        stored.name, stored.config["connector.class"], state_of(stored), "refused", errors[0].what, errors[0].remedy, findings=found
    )
    return replace(plan, without_effect=without_effect(stored.config), unknown=unknown(stored.config))


def planned(stored: StoredConnector, found: Sequence[Finding], config: ConnectorConfig, selection: Selection, health: SlotHealth) -> Plan:
    """The plan of a connector that is accepted. The start decision is the one that its task would make now."""
    raw = stored.offset({"server": config.topic_prefix})
    offset = None if raw is None else StoredOffset.parse(raw)
    verdict, why, remedy = _decided(config, selection, health, offset)
    own = [one for one in found if not (_IN_USE in one.what and one.property == "slot.name")]
    return Plan(
        stored.name,
        stored.config["connector.class"],
        state_of(stored),
        verdict,
        why,
        remedy,
        raw,
        _slot(health, offset),
        own,
        without_effect(stored.config),
        unknown(stored.config),
    )


def _decided(config: ConnectorConfig, selection: Selection, health: SlotHealth, offset: StoredOffset | None) -> tuple[Verdict, str, str]:
    if health.problem:
        return "unknown", health.problem, "Run this command where the database can be reached."
    if selection.mode is None:
        return "unknown", "A snapshotter of your own decides at the start.", "Write it in Python (`understudy docs snapshotters`)."
    try:
        decision = decide(
            selection.mode,
            health.slot,
            offset,
            config.offset_mismatch_strategy,
            health.plugin or "pgoutput",
            check_position=config.internal_log_position_check_enable,
        )
    except CdcError as problem:
        return "stops", problem.message, problem.remedy
    if decision.snapshot:
        return (
            "snapshot",
            f"It takes a new snapshot: {decision.why}.",
            "" if offset is None else "Check that its consumers can bear every row again.",
        )
    if not decision.stream:
        return "finished", f"Nothing is left to do: {decision.why}.", ""
    if decision.unsent is not None:
        return "resumes", f"{decision.why[0].upper()}{decision.why[1:]}.", "Find out who moved the slot: what lies between is not sent."
    return (
        "resumes",
        "It goes on where Kafka Connect has stopped." if offset is not None else f"It streams from the slot: {decision.why}.",
        "",
    )


def _slot(health: SlotHealth, offset: StoredOffset | None) -> Slot | None:
    if not health.streams:
        return None
    slot = health.slot
    if slot is None:
        return Slot(health.slot_name, exists=False)
    at = None if offset is None else max(offset.start or 0, offset.lsn or 0)
    behind = None if at is None or not slot.confirmed else at - slot.confirmed
    return Slot(slot.name, True, slot.active, slot.holder, slot.plugin, slot.wal_status, format_lsn(slot.confirmed), behind)


def without_effect(config: Mapping[str, str]) -> list[str]:
    """The properties of ``config`` that are accepted and have no effect here."""
    return sorted(name for name in config if _support(name) == "ignored")


def unknown(config: Mapping[str, str]) -> list[str]:
    """The properties of ``config`` that no table knows."""
    return sorted(name for name in config if _support(name) is None)


_FORMER: Final = frozenset(alias.old for alias in ALIASES)
_FREE: Final = (
    "transforms.",
    "predicates.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "producer.override.",
    "admin.override.",
)
"""Beginnings of properties that belong to a class, which checks them itself."""


def _support(name: str) -> str | None:
    if name in BY_NAME:
        return BY_NAME[name].support
    family = family_of(name)
    if family is not None:
        return family.support
    return "honoured" if name in _FORMER or name.startswith(_FREE) else None
