"""The ways on which a signal can reach a connector, chosen from the connector's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from workers.cli.failure import CommandError

Way = Literal["rest", "kafka", "source"]
WAYS: Final[tuple[Way, ...]] = get_args(Way)

BEHIND_REST: Final = frozenset({"http", "jmx"})
"""Names in ``signal.enabled.channels`` that enable signals by REST."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The ways that the configuration opens, the best first; for each other channel why it is none."""

    ways: tuple[Way, ...]
    closed: tuple[str, ...]


def choose(config: Mapping[str, str]) -> Choice:
    """REST needs no login but the worker's, so it comes first; then the topic, then the table."""
    channels = [name.strip() for name in config.get("signal.enabled.channels", "source").split(",") if name.strip()]
    ways: dict[Way, None] = {}
    closed: list[str] = []
    for channel in channels:
        if channel in BEHIND_REST:
            ways["rest"] = None
        elif channel == "kafka" and config.get("signal.kafka.bootstrap.servers"):
            ways["kafka"] = None
        elif channel == "source" and config.get("signal.data.collection"):
            ways["source"] = None
        else:
            closed.append(_why(channel, config))
    return Choice(tuple(way for way in WAYS if way in ways), tuple(closed))


def _why(channel: str, config: Mapping[str, str]) -> str:
    match channel:
        case "kafka":
            return "kafka: signal.kafka.bootstrap.servers is not set"
        case "source":
            return "source: signal.data.collection is not set"
        case "file":
            return f"file: append the signal to {config.get('signal.file', 'file-signals.txt')} on the worker's machine"
        case _:
            return f"{channel}: only the worker knows this channel"


def no_way(name: str, choice: Choice) -> CommandError:
    """The error when no way is open."""
    closed = "; ".join(choice.closed) or "signal.enabled.channels is empty"
    return CommandError(
        f"No signal can be sent to the connector {name} from here ({closed})",
        "Add http to its signal.enabled.channels: signals by REST need nothing else.",
    )
