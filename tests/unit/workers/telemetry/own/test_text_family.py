"""The own series of a scrape, read as Prometheus reads them, in both formats."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as plain

from connector.delivery.progress import Progress, TableProgress
from connector.meters.task_meters import TaskMeters
from connector.ports import no_backtracking
from workers.telemetry.exposition import Exposition, load_rules
from workers.telemetry.own.figure import ConnectorFacts, WorkerFacts
from workers.telemetry.own.slot_watch import SlotFigures
from workers.telemetry.own.text_family import OwnFamilies
from workers.telemetry.rules.text_format import OPEN_METRICS, PROMETHEUS, write
from workers.telemetry.worker_meter import TaskOutcomes, WorkerMeter

SLOT = SlotFigures("extended", True, 5, 2.5, 10, 100, None, 20, 0.5)
ODD = 'we"ird\\ name\n'


def facts(*, by_table: bool = True) -> ConnectorFacts:
    meters, progress = TaskMeters(), Progress(tables=[TableProgress("public.t", rows=7), TableProgress("public.u", rows=1)])
    counts = meters.stream.counts("public.t")
    counts.creates, counts.deletes = 3, 1
    meters.stream.counts("public.u").creates = 2
    meters.stream.committed(1, 1, 1_000)
    meters.delays.sent(1, meters.stream)
    meters.delays.acknowledged(1, 1_003)
    meters.producer.packed("shop.public.t", 4, 1_000, 100, 0.0)
    meters.producer.packed("shop.public.u", 2, 500, 80, 0.0)
    meters.snapshot.incremental_sent("public.t", 9, 0)
    meters.in_flight = lambda: 250
    outcomes = TaskOutcomes(2, {"source_timeout": 3}, {"internal": 1})
    return ConnectorFacts("shop", "running", meters, progress, outcomes, SLOT, by_table)


def worker() -> WorkerFacts:
    meter = WorkerMeter(lambda: 0.0)
    meter.connections = lambda: 4
    meter.scraped(0.25)
    meter.loop_lag.histogram.add(0.2)
    meter.loop_lag.recent.add(0.2, 0.0)
    return WorkerFacts(meter, 0.0)


def exposition(*connectors: ConnectorFacts) -> Exposition:
    families = OwnFamilies()
    return Exposition(load_rules("debezium", no_backtracking), tuple, lambda: families(worker(), connectors))


def samples(*connectors: ConnectorFacts, names: Sequence[str] = ()) -> dict[tuple[str, ...], float]:
    text = exposition(*connectors)("", names)[0].decode()
    return {
        (sample.name, *(f"{label}={value}" for label, value in sorted(sample.labels.items()) if label != "connector")): sample.value
        for family in plain(text)
        for sample in family.samples
        if sample.name.startswith("understudy_") and "_bucket" not in sample.name
    }


WORKERS = ("understudy_event_loop", "understudy_scrape", "understudy_rest")
"""How the series without a connector begin."""


def test_the_series_of_a_connector() -> None:
    assert {name: value for name, value in samples(facts()).items() if not name[0].startswith(WORKERS)} == {
        ("understudy_task_state", "state=running"): 1,
        ("understudy_task_starts_total",): 2,
        ("understudy_task_retries_total", "kind=source_timeout"): 3,
        ("understudy_task_failures_total", "kind=internal"): 1,
        ("understudy_events_total", "operation=create", "table=public.t"): 3,
        ("understudy_events_total", "operation=delete", "table=public.t"): 1,
        ("understudy_events_total", "operation=create", "table=public.u"): 2,
        ("understudy_snapshot_rows_total", "table=public.t"): 7,
        ("understudy_snapshot_rows_total", "table=public.u"): 1,
        ("understudy_incremental_snapshot_rows_total", "table=public.t"): 9,
        ("understudy_delay_seconds_sum",): 0.003,
        ("understudy_delay_seconds_count",): 1,
        ("understudy_sent_records_total", "topic=shop.public.t"): 4,
        ("understudy_sent_records_total", "topic=shop.public.u"): 2,
        ("understudy_sent_bytes_total", "topic=shop.public.t"): 1_000,
        ("understudy_sent_bytes_total", "topic=shop.public.u"): 500,
        ("understudy_sent_compressed_bytes_total", "topic=shop.public.t"): 100,
        ("understudy_sent_compressed_bytes_total", "topic=shop.public.u"): 80,
        ("understudy_sent_batches_total", "topic=shop.public.t"): 1,
        ("understudy_sent_batches_total", "topic=shop.public.u"): 1,
        ("understudy_in_flight_bytes",): 250,
        ("understudy_slot_lag_bytes",): 5,
        ("understudy_slot_lag_seconds",): 2.5,
        ("understudy_slot_retained_wal_bytes",): 10,
        ("understudy_slot_safe_wal_bytes",): 100,
        ("understudy_slot_wal_status", "wal_status=extended"): 1,
        ("understudy_slot_active",): 1,
        ("understudy_server_wal_position_bytes",): 20,
        ("understudy_slot_look_age_seconds",): 0.5,
    }


def test_sums_in_place_of_tables_and_topics() -> None:
    found = samples(facts(by_table=False), ConnectorFacts("paused", "paused", by_table=False))
    assert {
        name: value for name, value in found.items() if name[0].startswith(("understudy_events", "understudy_se", "understudy_sn"))
    } == {
        ("understudy_events_total", "operation=create", "table="): 5,
        ("understudy_events_total", "operation=delete", "table="): 1,
        ("understudy_snapshot_rows_total", "table="): 8,
        ("understudy_sent_records_total", "topic="): 6,
        ("understudy_sent_bytes_total", "topic="): 1_500,
        ("understudy_sent_compressed_bytes_total", "topic="): 180,
        ("understudy_sent_batches_total", "topic="): 2,
        ("understudy_server_wal_position_bytes",): 20,
    }
    assert found["understudy_incremental_snapshot_rows_total", "table="] == 9


def test_the_series_of_a_worker_without_connectors() -> None:
    assert samples() == {
        ("understudy_event_loop_lag_seconds_sum",): 0.2,
        ("understudy_event_loop_lag_seconds_count",): 1,
        ("understudy_event_loop_lag_max_seconds",): 0.2,
        ("understudy_scrape_cpu_seconds_total",): 0.25,
        ("understudy_rest_connections",): 4,
    }


def test_a_connector_without_a_task_shows_its_state_and_its_slot() -> None:
    found = samples(ConnectorFacts("shop", "failed", outcomes=TaskOutcomes(1, {}, {"internal": 1}), slot=SLOT))
    assert ("understudy_task_state", "state=failed") in found
    assert ("understudy_slot_retained_wal_bytes",) in found
    assert not {name for name, *_ in found if name.startswith(("understudy_sent", "understudy_events", "understudy_delay"))}


def test_both_formats_have_the_same_series() -> None:
    scrape = exposition(facts(), ConnectorFacts(ODD, "paused", TaskMeters(), Progress()))
    body, form = scrape("application/openmetrics-text")
    assert form == OPEN_METRICS
    both = [
        {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
            if sample.name.startswith("understudy_")
        }
        for families in (plain(scrape("")[0].decode()), open_metrics(body.decode()))  # type: ignore[no-untyped-call]
    ]
    assert both[0] == both[1]
    assert ("understudy_task_state", ("connector", ODD), ("state", "paused")) in both[0]


def test_a_histogram_is_one_for_prometheus() -> None:
    body = exposition(facts())("application/openmetrics-text")[0].decode()
    [delay] = [family for family in open_metrics(body) if family.name == "understudy_delay_seconds"]  # type: ignore[no-untyped-call]
    assert delay.type == "histogram"
    buckets = {sample.labels["le"]: sample.value for sample in delay.samples if sample.name.endswith("_bucket")}
    assert (buckets["0.001"], buckets["0.0025"], buckets["0.005"], buckets["60.0"], buckets["+Inf"]) == (0, 0, 1, 1, 1)
    [lag] = [family for family in open_metrics(body) if family.name == "understudy_event_loop_lag_seconds"]  # type: ignore[no-untyped-call]
    assert {sample.labels["le"]: sample.value for sample in lag.samples if sample.name.endswith("_bucket")}["0.25"] == 1


def test_a_scrape_may_name_series() -> None:
    names = ["understudy_delay_seconds_count", "understudy_events_total"]
    assert {name for name, *_ in samples(facts(), names=names)} == {
        "understudy_delay_seconds_sum",
        "understudy_delay_seconds_count",
        "understudy_events_total",
    }


async def test_a_scrape_lets_others_run_and_equals_one_that_does_not() -> None:
    awaited: list[str] = []

    async def fresh() -> None:
        awaited.append("fresh")

    scrape = Exposition(load_rules("debezium", no_backtracking), tuple, lambda: OwnFamilies()(worker(), [facts()]), fresh)
    names = ["understudy_events_total"]
    assert await scrape.scrape("", names) == scrape("", names)
    assert awaited == ["fresh"]


def test_kept_text_is_that_of_a_first_scrape() -> None:
    first, second = facts(), ConnectorFacts(ODD, "paused", TaskMeters(), Progress())
    kept = OwnFamilies()

    def equal(*connectors: ConnectorFacts) -> None:
        present = worker()
        assert [(each.name, each.lines) for each in kept(present, connectors)] == [
            (each.name, each.lines) for each in OwnFamilies()(present, connectors)
        ]

    equal(first, second)
    assert first.meters is not None
    assert first.progress is not None
    first.meters.stream.counts("public.t").creates += 5
    first.meters.producer.packed("shop.public.u", 3, 100, 9, 1.0)
    first.meters.delays.histogram.add(0.5)
    equal(first, second)
    # The points are as many as before, and those of other operations.
    first.meters.stream.counts("public.t").creates = 0
    first.meters.stream.counts("public.t").truncates = 1
    equal(second, first)
    first.meters.producer.packed("shop.public.new", 3, 100, 9, 1.0)
    first.progress.tables.pop(0)
    equal(first)
    equal(facts(by_table=False), second)
    equal()


_NAMES = st.sampled_from(("public.t", "public.u", ODD, "100%s"))
_STEPS = st.one_of(
    st.tuples(st.just("count"), _NAMES, st.sampled_from(("creates", "updates", "deletes", "truncates"))),
    st.tuples(st.sampled_from(("sent", "read", "incremental", "asked again", "nothing")), _NAMES, st.just("")),
)


@given(st.lists(st.lists(_STEPS, max_size=3), max_size=8), st.booleans())
def test_kept_text_after_any_counts_is_that_of_a_first_scrape(scrapes: list[list[tuple[str, str, str]]], by_table: bool) -> None:
    present, shown, kept = worker(), facts(by_table=by_table), OwnFamilies()
    meters, progress = shown.meters, shown.progress
    assert meters is not None
    assert progress is not None
    for steps in scrapes:
        for step, name, operation in steps:
            if step == "count":
                counts = meters.stream.counts(name)
                setattr(counts, operation, getattr(counts, operation) + 1)
            elif step == "sent":
                meters.producer.packed(name, 3, 100, 9, 1.0)
            elif step == "read":
                progress.tables.append(TableProgress(name))
                progress.tables[0].rows += 2
            elif step == "incremental":
                meters.snapshot.incremental_sent(name, 5, 0)
            elif step == "asked again":
                meters.snapshot.incremental_begins([name])
        for form in (PROMETHEUS, OPEN_METRICS):
            assert write(kept(present, [shown]), form) == write(OwnFamilies()(present, [shown]), form)
