"""MBeans as series for Prometheus, under the names that JMX exporter gives them with the rules of the published boards.

Debezium's boards ask for ``debezium_metrics_<Attribute>`` and ``kafka_connect_worker_metrics_<attribute>``; Strimzi's for
``kafka_connect_worker_<attribute>`` and ``kafka_connect_connector_status``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from workers.telemetry.mbean import Attribute, MBean

if TYPE_CHECKING:
    from prometheus_client import Metric

_DEBEZIUM: Final = "debezium."
_UNSAFE: Final = re.compile(r"[^a-zA-Z0-9_]")


@dataclass(frozen=True, slots=True)
class Series:
    """One series with its present value."""

    name: str
    labels: Mapping[str, str]
    value: float


def series(beans: Iterable[MBean]) -> Iterator[Series]:
    """Yield the series of all attributes with a number, a boolean (1 or 0), or a number for each table."""
    for bean in beans:
        keys = dict(bean.keys)
        if bean.domain.startswith(_DEBEZIUM):
            # The custom tags follow, and may have any name.
            (_, _kind), (_, context), (_, server), *tags = bean.keys
            labels = {"context": context, "name": server, "plugin": bean.domain.removeprefix(_DEBEZIUM)}
            yield from _of_attributes("debezium_metrics_", {**_labels(tags), **labels}, bean.attributes)
        elif keys == {"type": "connect-worker-metrics"}:
            yield from _of_attributes("kafka_connect_worker_metrics_", {}, bean.attributes)
            yield from _of_attributes("kafka_connect_worker_", {}, bean.attributes)
        elif keys["type"] == "connect-worker-metrics":
            yield from _of_attributes("kafka_connect_worker_", {"connector": keys["connector"]}, bean.attributes)
        elif keys["type"] == "connector-metrics":
            yield Series("kafka_connect_connector_status", {"connector": keys["connector"], "status": str(bean.attributes["status"])}, 1.0)


def exposition(beans: Iterable[MBean], accept: str) -> tuple[bytes, str]:
    """Return the answer of a scrape and its content type: OpenMetrics if ``accept``, the request's header, prefers it."""
    # The import takes 30 ms; a worker that nobody scrapes does not need it.
    from prometheus_client import CollectorRegistry  # noqa: PLC0415
    from prometheus_client.exposition import choose_encoder  # noqa: PLC0415

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(beans))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Collector:
    """Obeys prometheus_client's protocol of a collector."""

    def __init__(self, beans: Iterable[MBean]) -> None:
        self._beans = beans

    def collect(self) -> Iterable[Metric]:
        from prometheus_client import Metric  # noqa: PLC0415

        families: dict[str, Metric] = {}
        for one in series(self._beans):
            if one.name not in families:
                families[one.name] = Metric(one.name, "Attribute of an MBean, see docs/monitoring.md.", "unknown")
            families[one.name].add_sample(one.name, dict(one.labels), one.value)
        return families.values()


def _of_attributes(prefix: str, labels: Mapping[str, str], attributes: Mapping[str, Attribute]) -> Iterator[Series]:
    for attribute, value in attributes.items():
        name = prefix + _UNSAFE.sub("_", attribute)
        if isinstance(value, int | float):
            yield Series(name, labels, float(value))
        elif isinstance(value, Mapping):
            for table, part in value.items():
                if isinstance(part, int | float):
                    yield Series(name, {**labels, "table": table}, float(part))


def _labels(tags: Iterable[tuple[str, str]]) -> dict[str, str]:
    """``custom.metric.tags`` as labels. One label with a bad name would make Prometheus refuse the whole scrape."""
    safe = ((_UNSAFE.sub("_", name), value) for name, value in tags)
    return {f"_{name}" if name[:1].isdigit() else name: value for name, value in safe if name}
