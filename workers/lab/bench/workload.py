"""What a run writes and how its connector treats it: orders that are sent as they are, or an outbox whose rows become messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from workers.lab.bench import orders


@dataclass(frozen=True, slots=True)
class Workload:
    """A table, and the settings that make one record of each of its inserted rows. The records' topic is ``<prefix>.<table>``."""

    table: str
    create: str
    insert: str
    """Inserts the rows of the ids from the first to the second parameter."""
    settings: Mapping[str, str]
    """Settings of the connector; ``{prefix}`` stands for its topic prefix."""
    phases: frozenset[str]
    """The phases that it can run."""

    def settings_of(self, prefix: str) -> dict[str, str]:
        """Return the settings of a connector with this topic prefix."""
        return {key: value.replace("{prefix}", prefix) for key, value in self.settings.items()}


_OUTBOX: Final = """
CREATE SCHEMA bench;
CREATE TABLE bench.outbox (
    id bigint PRIMARY KEY,
    aggregatetype text NOT NULL,
    aggregateid text NOT NULL,
    type text NOT NULL,
    payload jsonb NOT NULL
)"""
# 16 members: eight texts, five integers, two doubles and a boolean.
_MESSAGES: Final = """
INSERT INTO bench.outbox
SELECT i, 'order', mod(i, 100)::text, 'placed', jsonb_build_object(
    'status', 'status ' || i, 'note', 'note ' || i, 'made', 'made ' || i, 'country', 'country ' || i,
    'city', 'city ' || i, 'zip', 'zip ' || i, 'channel', 'channel ' || i, 'coupon', 'coupon ' || i,
    'id', mod(i, 1000), 'customer', mod(i, 1000), 'qty', mod(i, 1000), 'lines', mod(i, 1000), 'tax', mod(i, 1000),
    'amount', 10.25, 'score', 1.5, 'active', true)
FROM generate_series(%s::bigint, %s::bigint) AS i"""

WORKLOADS: Final[Mapping[str, Workload]] = {
    "orders": Workload(orders.TABLE, orders.CREATE, orders.INSERT, {}, frozenset({"snapshot", "stream", "big", "latency"})),
    "outbox": Workload(
        "bench.outbox",
        _OUTBOX,
        _MESSAGES,
        {
            "transforms": "outbox",
            "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
            "transforms.outbox.table.expand.json.payload": "true",
            "transforms.outbox.route.topic.replacement": "{prefix}.bench.outbox",
        },
        # An outbox has no updates, and its messages have no id in their key by which a delay could be taken.
        frozenset({"snapshot", "stream"}),
    ),
}
