"""What a worker's own figures are computed from: its connectors, their tasks and their slots (:mod:`workers.telemetry.own`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from connect_api.herder import HerderError
from workers.group.ownership import Ownership
from workers.herder.connector_states import TASK, ConnectorStates
from workers.herder.reconciler import Reconciler
from workers.stores.config_store import ConfigStore
from workers.telemetry.own.figure import ConnectorFacts, WorkerFacts
from workers.telemetry.own.slot_watch import SlotFigures
from workers.telemetry.worker_meter import TaskOutcomes, WorkerMeter


class GatheredFacts:
    """Gathers the facts of one worker when they are asked for."""

    def __init__(
        self,
        config: ConfigStore,
        states: ConnectorStates,
        reconciler: Reconciler,
        ownership: Ownership,
        meter: WorkerMeter,
        *,
        by_table: bool,
    ) -> None:
        self._config: Final = config
        self._states: Final = states
        self._reconciler: Final = reconciler
        self._ownership: Final = ownership
        self._meter: Final = meter
        self._by_table: Final = by_table

    def configs(self) -> Mapping[str, Mapping[str, str]]:
        """Return the stored configurations of the connectors that this worker owns, in the order of their names."""
        found = ((name, self._config.config(name)) for name in sorted(self._ownership.held))
        return {name: config for name, config in found if config is not None}

    def worker(self) -> WorkerFacts:
        """Return the facts of the worker."""
        return WorkerFacts(self._meter, self._meter.now())

    def connectors(self, slot: Callable[[str], SlotFigures | None] = lambda _name: None) -> Sequence[ConnectorFacts]:
        """Return the facts of each connector. ``slot`` returns the figures of a connector's slot."""
        return [
            ConnectorFacts(
                name,
                self._state(name),
                self._reconciler.meters(name),
                self._reconciler.progress(name),
                self._meter.outcomes.get(name) or TaskOutcomes(),
                slot(name),
                self._by_table,
            )
            for name in self.configs()
        ]

    def _state(self, name: str) -> str:
        try:
            tasks = self._states.connector(name).tasks
        except HerderError:
            # The connector's first state is not written yet.
            return ""
        return tasks[TASK].state.lower() if TASK in tasks else ""
