"""The description of an MBean in answers to ``list``: its attributes with their Java types, its operations and its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from workers.telemetry.mbean import Attribute, MBean

_KAFKA: Final = "org.apache.kafka.common.metrics.JmxReporter$KafkaMbean"
_CLASSES: Final = {
    "signals": "io.debezium.pipeline.signal.channels.jmx.JmxSignalChannel",
    "notifications": "io.debezium.pipeline.notification.channels.jmx.JmxNotificationChannel",
    "snapshot": "io.debezium.pipeline.metrics.DefaultSnapshotChangeEventSourceMetrics",
    "streaming": "io.debezium.pipeline.metrics.DefaultStreamingChangeEventSourceMetrics",
}


def described(bean: MBean) -> dict[str, Any]:
    """Return the description of an MBean."""
    kafka = bean.domain.startswith("kafka.")
    found: dict[str, Any] = {}
    if bean.operations:
        found["op"] = {
            each.name: {
                "args": [{"name": f"p{at}", "type": kind, "desc": f"p{at}"} for at, kind in enumerate(each.parameters)],
                "ret": "void",
                "desc": each.name,
            }
            for each in bean.operations
        }
    if bean.attributes:
        found["attr"] = {
            name: {"rw": False, "type": "double" if kafka else _java_type(value), "desc": name} for name, value in bean.attributes.items()
        }
    found["class"] = _KAFKA if kafka else _CLASSES.get(dict(bean.keys).get("context", ""), "understudy")
    found["desc"] = "" if kafka else "Information on the management interface of the MBean"
    return found


def _java_type(value: Attribute) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "long"
        case float():
            return "java.lang.Double"
        case Mapping():
            return "javax.management.openmbean.TabularData"
        case None | str():
            return "java.lang.String"
        case Sequence() if value and isinstance(value[0], Mapping):
            return "[Ljavax.management.openmbean.CompositeData;"
    return "[Ljava.lang.String;"
