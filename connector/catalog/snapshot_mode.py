"""The settings of each ``snapshot.mode`` (Debezium documentation, "Snapshots")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from connector.config.connector_config import ConnectorConfig
from connector.errors import CdcError, ErrorKind


@dataclass(frozen=True, slots=True)
class SnapshotMode:
    """The settings of a ``snapshot.mode``."""

    name: str
    snapshot_data: bool
    stream: bool
    always: bool = False
    """Whether each start takes a snapshot."""
    when_needed: bool = False
    """Whether a new snapshot is taken if the WAL from the offset on was removed."""
    catch_up: bool = False
    """Whether the changes since the stored offset are sent before a snapshot that is taken again."""
    ask: Callable[[bool, bool], bool] | None = None
    """Decides alone whether to read rows, usually as a user's snapshotter says: is there an offset, and is it the offset of an unfinished
    snapshot?"""

    def wants(self, *, offset: bool, broken: bool = False) -> bool:
        """Return whether to read the rows if there is an ``offset``, or the offset of an unfinished (``broken``) snapshot."""
        if self.ask is not None:
            return self.ask(offset, broken)
        return self.snapshot_data and (self.always or broken or not offset)

    def wants_after_loss(self) -> bool:
        """Return whether to read the rows after changes were lost. As recorded, only :attr:`ask` may continue without them."""
        return self.ask is None or self.ask(False, False)

    @classmethod
    def of(cls, mode: str, *, based_on: Mapping[str, bool] | None = None) -> SnapshotMode:
        """Return the mode of this name. ``based_on`` are the flags of configuration_based: data, stream, on_data_error."""
        if mode == "configuration_based":
            flags = based_on or {}
            data, needed = flags.get("data", False), flags.get("on_data_error", False)
            # As recorded, each start reads the rows or none does; but unlike ``always``, it does not make up for lost changes by itself.
            return cls(mode, data, flags.get("stream", False), when_needed=needed, ask=lambda _offset, _broken: data)
        try:
            return _MODES[mode]
        except KeyError:
            raise CdcError(
                ErrorKind.CONFIG_INVALID, f"Property snapshot.mode is {mode!r}", f"Use one of {', '.join(_MODES)}, configuration_based"
            ) from None


_MODES: Final = {
    mode.name: mode
    for mode in (
        SnapshotMode("always", snapshot_data=True, stream=True, always=True),
        SnapshotMode("initial", snapshot_data=True, stream=True),
        SnapshotMode("initial_only", snapshot_data=True, stream=False),
        SnapshotMode("no_data", snapshot_data=False, stream=True),
        SnapshotMode("when_needed", snapshot_data=True, stream=True, when_needed=True),
    )
}

MODE_NAMES: Final = (*_MODES, "configuration_based")
"""The names that :meth:`SnapshotMode.of` accepts."""


def chosen_mode(config: ConnectorConfig) -> SnapshotMode | None:
    """Return the mode that the configuration names; None if a user's class decides.

    As recorded from Debezium, ``custom`` with the name of a mode in ``snapshot.mode.custom.name`` means that mode.
    """
    name = config.snapshot_mode
    if name == "custom":
        name = (config.snapshot_mode_custom_name or "").strip()
        if name not in MODE_NAMES:
            return None
    return SnapshotMode.of(
        name,
        based_on={
            "data": config.snapshot_mode_configuration_based_snapshot_data,
            "stream": config.snapshot_mode_configuration_based_start_stream,
            "on_data_error": config.snapshot_mode_configuration_based_snapshot_on_data_error,
        },
    )
