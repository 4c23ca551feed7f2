"""The MBeans of clients of which only the connections are known."""

from __future__ import annotations

from connector.meters.connection_meter import ConnectionMeter, Traffic
from connector.meters.producer_meter import ProducerMeter
from workers.telemetry.beans.client import ProducerBeans, ProducerFacts, connect_bean
from workers.telemetry.beans.connections import ClientFacts, admin_bean, consumer_bean
from workers.telemetry.mbean import separate


class Connection:
    """Stands for a connection, which is known by its identity."""


def watched(meter: ConnectionMeter) -> ConnectionMeter:
    one, other = Connection(), Connection()
    meter.watch(lambda: {one: Traffic(600, 300, 10, 1), other: Traffic(300, 0, 2)})
    meter.look(0)
    return meter


CARRIED = {
    "connection-count": 2,
    "connection-creation-total": 2,
    "connection-creation-rate": 2 / 30,
    "incoming-byte-total": 300,
    "incoming-byte-rate": 10,
    "network-io-total": 23,
    "network-io-rate": 12 / 30 + 11 / 30,
    "response-rate": 11 / 30,
}


def test_consumers_clients_that_create_topics_and_the_member() -> None:
    facts = ClientFacts(watched(ConnectionMeter()))
    beans = [consumer_bean("g-configs", facts), admin_bean("g-shared-admin", facts), connect_bean("connect-w", facts)]
    assert [bean.name for bean in beans] == [
        "kafka.consumer:type=consumer-metrics,client-id=g-configs",
        "kafka.admin.client:type=admin-client-metrics,client-id=g-shared-admin",
        "kafka.connect:type=connect-metrics,client-id=connect-w",
    ]
    for bean in beans:
        assert {name: value for name, value in bean.attributes.items() if value == value and value} == {  # noqa: PLR0124 (NaN)
            **CARRIED,
            "outgoing-byte-total": 900,
            "outgoing-byte-rate": 30,
            "request-total": 12,
            "request-rate": 12 / 30,
            "response-total": 11,
        }


def test_a_producer_counts_its_batches_beside_its_connections() -> None:
    meter = ProducerMeter()
    watched(meter.connections)
    [producer] = separate(ProducerBeans().each("p", ProducerFacts(meter, 0)))
    assert {name: value for name, value in producer.attributes.items() if value == value and value} == {  # noqa: PLR0124 (NaN)
        **CARRIED,
        "requests-in-flight": 1,
        "buffer-total-bytes": 33_554_432,
        "buffer-available-bytes": 33_554_432,
    }
