"""Attributes of the connections that each of Kafka's clients has, and the MBeans ``consumer-metrics`` and ``admin-client-metrics``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from connector.meters.connection_meter import ConnectionMeter
from workers.telemetry.beans.attribute import Row, attributes, unreported, unreported_averages
from workers.telemetry.beans.object_name import key_value
from workers.telemetry.mbean import MBean

CONSUMER_DOMAIN: Final = "kafka.consumer"
ADMIN_DOMAIN: Final = "kafka.admin.client"


class Connected(Protocol):
    """What the values are computed from."""

    @property
    def connections(self) -> ConnectionMeter:
        """The connections, as they were looked at for this scrape."""


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """A client of which only the connections are known."""

    connections: ConnectionMeter


COUNT: Final[tuple[Row[Connected], ...]] = (
    Row("connection-count", "exact", "open connections to brokers", lambda facts: float(facts.connections.open)),
    Row("connection-creation-total", "nearest", "connections seen by a scrape", lambda facts: float(facts.connections.totals.created)),
    Row("connection-creation-rate", "nearest", "likewise, per second", lambda facts: facts.connections.rate("created")),
    Row("connection-close-total", "nearest", "those of them that are gone", lambda facts: float(facts.connections.totals.closed)),
    Row("connection-close-rate", "nearest", "likewise, per second", lambda facts: facts.connections.rate("closed")),
)
INCOMING: Final[tuple[Row[Connected], ...]] = (
    Row(
        "incoming-byte-total",
        "nearest",
        "bytes received, with TLS, until the last scrape of each connection; 0 on other systems than Linux",
        lambda facts: float(facts.connections.totals.received),
    ),
    Row("incoming-byte-rate", "nearest", "likewise, per second", lambda facts: facts.connections.rate("received")),
    Row(
        "network-io-total",
        "nearest",
        "requests and answers",
        lambda facts: float(facts.connections.totals.requests + facts.connections.totals.answers),
    ),
    Row(
        "network-io-rate",
        "nearest",
        "likewise, per second",
        lambda facts: facts.connections.rate("requests") + facts.connections.rate("answers"),
    ),
    Row(
        "response-rate", "nearest", "answers per second, also to requests without records", lambda facts: facts.connections.rate("answers")
    ),
)
OUTGOING: Final[tuple[Row[Connected], ...]] = (
    Row("outgoing-byte-total", "nearest", "bytes sent, likewise", lambda facts: float(facts.connections.totals.sent)),
    Row("outgoing-byte-rate", "nearest", "likewise, per second", lambda facts: facts.connections.rate("sent")),
    Row("request-total", "nearest", "requests", lambda facts: float(facts.connections.totals.requests)),
    Row("request-rate", "nearest", "likewise, per second", lambda facts: facts.connections.rate("requests")),
    Row("response-total", "nearest", "answers", lambda facts: float(facts.connections.totals.answers)),
)
IN_FLIGHT: Final[tuple[Row[Connected], ...]] = (
    Row("requests-in-flight", "exact", "requests without an answer", lambda facts: float(facts.connections.in_flight)),
)
AUTHENTICATION: Final = (
    *unreported(
        "failed-authentication-rate failed-authentication-total failed-reauthentication-rate failed-reauthentication-total "
        "successful-authentication-no-reauth-total successful-authentication-rate successful-authentication-total "
        "successful-reauthentication-rate successful-reauthentication-total"
    ),
    *unreported_averages("reauthentication-latency-avg reauthentication-latency-max"),
)
LOOP: Final = unreported(
    "io-ratio io-time-ns-avg io-time-ns-total io-wait-ratio io-wait-time-ns-avg io-wait-time-ns-total select-rate select-total"
)
CLIENT: Final[tuple[Row[Connected], ...]] = (
    *COUNT,
    *INCOMING,
    *OUTGOING,
    *unreported_averages("request-size-avg request-size-max"),
    *AUTHENTICATION,
    *LOOP,
)


def consumer_bean(client: str, facts: ClientFacts) -> MBean:
    """Return the MBean of the consumer with this client id."""
    return MBean(CONSUMER_DOMAIN, (("type", "consumer-metrics"), ("client-id", key_value(client))), attributes(CLIENT, facts))


def admin_bean(client: str, facts: ClientFacts) -> MBean:
    """Return the MBean of the admin client with this client id."""
    return MBean(ADMIN_DOMAIN, (("type", "admin-client-metrics"), ("client-id", key_value(client))), attributes(CLIENT, facts))
