"""What is learned of connections by looking at them now and then."""

from __future__ import annotations

from connector.meters.connection_meter import ConnectionMeter, Traffic


class Connection:
    """Stands for a connection, which is known by its identity."""


def test_what_open_connections_carry_adds_up() -> None:
    first, second = Connection(), Connection()
    carried: dict[object, Traffic] = {}
    meter = ConnectionMeter()
    meter.watch(lambda: carried)
    meter.look(100)
    assert (meter.open, meter.in_flight, sum(meter.totals), meter.rate("sent")) == (0, 0, 0, 0)
    carried[first] = Traffic(sent=300, received=60, requests=5, waiting=1)
    meter.look(110)
    assert (meter.open, meter.in_flight) == (1, 1)
    assert meter.totals == (1, 0, 300, 60, 5, 4)
    # At least 30 s count as passed, as in Kafka.
    assert (meter.rate("sent"), meter.rate("answers")) == (10, 4 / 30)
    carried[first], carried[second] = Traffic(400, 90, 6), Traffic(50, 50, 2)
    meter.look(140)
    assert meter.totals == (2, 0, 450, 140, 8, 8)
    assert meter.rate("sent") == 450 / 40
    del carried[first]
    meter.look(150)
    assert (meter.open, meter.totals) == (1, (2, 1, 450, 140, 8, 8))


def test_the_connections_of_several_clients_are_one_sum() -> None:
    one, other = Connection(), Connection()
    meter = ConnectionMeter()
    meter.watch(lambda: {one: Traffic(1, 2, 3)})
    meter.watch(lambda: {other: Traffic(10, 20, 30)})
    meter.look(0)
    assert (meter.open, meter.totals) == (2, (2, 0, 11, 22, 33, 33))


def test_a_rate_covers_the_last_minute() -> None:
    connection, sent = Connection(), [0]
    meter = ConnectionMeter()
    meter.watch(lambda: {connection: Traffic(sent=sent[0])})
    for second in range(0, 200, 10):
        sent[0] = 6_000 if second < 100 else 6_000 + 3 * (second - 100)
        meter.look(second)
    assert meter.rate("sent") == 3
    # A single look after a long time covers that time.
    sent[0] += 1_000
    meter.look(1_190)
    assert meter.rate("sent") == 1


def test_looks_in_quick_succession_are_kept_as_one() -> None:
    meter = ConnectionMeter()
    for number in range(1_000):
        meter.look(number / 1_000)
    assert len(meter._samples) <= 3
