import pytest

from workers.telemetry.exposition import Series, exposition, series
from workers.telemetry.mbean import MBean

STREAMING = MBean(
    "debezium.postgres",
    (("type", "connector-metrics"), ("context", "streaming"), ("server", "shop"), ("data-center", "eu")),
    {"TotalNumberOfEventsSeen": 7, "Connected": True, "LastEvent": "0/1", "CapturedTables": ["public.t"], "RowsScanned": {"public.t": 3}},
)
WORKER = MBean("kafka.connect", (("type", "connect-worker-metrics"),), {"connector-count": 2.0})
TASKS = MBean("kafka.connect", (("type", "connect-worker-metrics"), ("connector", "shop")), {"connector-running-task-count": 1})
STATE = MBean("kafka.connect", (("type", "connector-metrics"), ("connector", "shop")), {"status": "running", "connector-type": "source"})


def test_numbers_booleans_and_numbers_by_table_are_series() -> None:
    labels = {"context": "streaming", "name": "shop", "plugin": "postgres", "data_center": "eu"}
    assert list(series([STREAMING])) == [
        Series("debezium_metrics_TotalNumberOfEventsSeen", labels, 7.0),
        Series("debezium_metrics_Connected", labels, 1.0),
        Series("debezium_metrics_RowsScanned", {**labels, "table": "public.t"}, 3.0),
    ]


@pytest.mark.parametrize(
    ("tag", "label"),
    [("data-center", "data_center"), ("2nd", "_2nd"), ("größe", "gr__e"), ("type", "type"), ("context", None), ("name", None)],
)
def test_a_tag_is_a_valid_label_and_hides_no_other(tag: str, label: str | None) -> None:
    bean = MBean(STREAMING.domain, (*STREAMING.keys[:3], (tag, "eu")), {"Connected": True})
    fixed = {"context": "streaming", "name": "shop", "plugin": "postgres"}
    assert list(series([bean])) == [Series("debezium_metrics_Connected", fixed if label is None else {**fixed, label: "eu"}, 1.0)]


def test_beans_of_kafka_connect_have_the_names_of_both_boards() -> None:
    assert list(series([WORKER, TASKS, STATE])) == [
        Series("kafka_connect_worker_metrics_connector_count", {}, 2.0),
        Series("kafka_connect_worker_connector_count", {}, 2.0),
        Series("kafka_connect_worker_connector_running_task_count", {"connector": "shop"}, 1.0),
        Series("kafka_connect_connector_status", {"connector": "shop", "status": "running"}, 1.0),
    ]


@pytest.mark.parametrize(
    ("accept", "kind", "last"),
    [
        ("", "text/plain", "} 1.0\n"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text", "# EOF\n"),
    ],
)
def test_the_client_chooses_the_format(accept: str, kind: str, last: str) -> None:
    body, content_type = exposition([WORKER, TASKS, STATE], accept)
    assert content_type.startswith(kind)
    assert body.decode().endswith(last)


def test_series_of_one_name_form_one_family() -> None:
    other = MBean(TASKS.domain, (("type", "connect-worker-metrics"), ("connector", 'a"b')), TASKS.attributes)
    body, _ = exposition([TASKS, WORKER, other], "")
    assert body.decode().count("# TYPE kafka_connect_worker_connector_running_task_count") == 1
    assert 'kafka_connect_worker_connector_running_task_count{connector="a\\"b"} 1.0' in body.decode()
