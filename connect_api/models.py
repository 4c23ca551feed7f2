"""The herder's values as Connect's JSON: member names and order are those of Kafka's REST entities. Each schema precedes its function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import orjson
from fastapi import Response

from connect_api.herder import (
    ConfigInfos,
    ConfigKey,
    ConfigValue,
    ConnectorInfo,
    ConnectorState,
    Health,
    LoggerLevel,
    Note,
    Offset,
    Plugin,
    ServerInfo,
    State,
    Status,
    TaskInfo,
)
from connect_api.schemas import BOOLEAN, TEXT, TEXT_OR_NULL, WHOLE, array, closed, mapping, one_of, or_null, words

CONFIG: Final = mapping(TEXT)
CONNECTOR_TYPE: Final = one_of(("source", "sink", "unknown"))
"""The schema of ``type`` in :class:`ConnectorInfo` and :class:`Status`."""


def reply(value: object, status: int = 200, *, location: str | None = None) -> Response:
    """Answer with ``value`` as compact JSON. Mappings and sequences of any type are accepted."""
    headers = None if location is None else {"Location": location}
    return Response(orjson.dumps(value, default=_plain), status_code=status, headers=headers, media_type="application/json")


def empty(status: int) -> Response:
    """Answer without a body."""
    return Response(status_code=status)


SERVER_INFO: Final = closed("ServerInfo", {"version": TEXT, "commit": TEXT, "kafka_cluster_id": TEXT})


def server_info(info: ServerInfo) -> dict[str, object]:
    """The body of ``GET /``."""
    return {"version": info.version, "commit": info.commit, "kafka_cluster_id": info.kafka_cluster_id}


HEALTH: Final = closed("Health", {"status": one_of(("healthy", "starting", "unhealthy")), "message": TEXT})


def health(state: Health) -> dict[str, object]:
    """The body of ``GET /health``."""
    return {"status": state.status, "message": state.message}


TASK_ID: Final = closed("TaskId", {"connector": TEXT, "task": WHOLE})
CONNECTOR_INFO: Final = closed("ConnectorInfo", {"name": TEXT, "config": CONFIG, "tasks": array(TASK_ID), "type": CONNECTOR_TYPE})


def connector_info(info: ConnectorInfo) -> dict[str, object]:
    """The body of ``GET /connectors/{c}``."""
    tasks = [task_id(info.name, task) for task in info.tasks]
    return {"name": info.name, "config": info.config, "tasks": tasks, "type": info.type}


def task_id(connector: str, task: int) -> dict[str, object]:
    """A task's id within other bodies."""
    return {"connector": connector, "task": task}


_STATE: Final = {"state": words(ConnectorState), "worker_id": TEXT, "version": TEXT_OR_NULL, "trace": TEXT}
_MAY_LACK: Final = ("version", "trace")
STATE: Final = closed("ConnectorState", _STATE, optional=_MAY_LACK)
TASK_STATE: Final = closed("TaskState", {"id": WHOLE, **_STATE}, optional=_MAY_LACK)
STATUS: Final = closed("ConnectorStatus", {"name": TEXT, "connector": STATE, "tasks": array(TASK_STATE), "type": CONNECTOR_TYPE})
EXPANDED: Final = mapping(closed("ConnectorExpanded", {"info": CONNECTOR_INFO, "status": STATUS}, optional=("info", "status")))
"""The schema of the list of connectors with ``expand``."""


def status(value: Status) -> dict[str, object]:
    """The body of ``GET /connectors/{c}/status``."""
    tasks = [task_state(task, state) for task, state in value.tasks.items()]
    return {"name": value.name, "connector": _state(value.connector), "tasks": tasks, "type": value.type}


def task_state(task: int, value: State) -> dict[str, object]:
    """The body of ``GET /connectors/{c}/tasks/{t}/status``."""
    return {"id": task, **_state(value)}


TASK_INFO: Final = closed("TaskInfo", {"id": TASK_ID, "config": CONFIG})


def task_info(value: TaskInfo) -> dict[str, object]:
    """An element of ``GET /connectors/{c}/tasks``."""
    return {"id": task_id(value.connector, value.task), "config": value.config}


PLAIN: Final = {"type": ["string", "number", "boolean", "null"]}
_PLACE: Final = or_null(mapping(PLAIN))
OFFSET: Final = closed("ConnectorOffset", {"partition": _PLACE, "offset": _PLACE})
OFFSETS: Final = closed("ConnectorOffsets", {"offsets": array(OFFSET)})


def offsets(values: Sequence[Offset]) -> dict[str, object]:
    """The body of ``GET /connectors/{c}/offsets``."""
    return {"offsets": [{"partition": value.partition, "offset": value.offset} for value in values]}


TOPICS: Final = mapping(closed("ActiveTopics", {"topics": array(TEXT)}), minProperties=1, maxProperties=1)


def topics(connector: str, names: Sequence[str]) -> dict[str, object]:
    """The body of ``GET /connectors/{c}/topics``."""
    return {connector: {"topics": names}}


MESSAGE: Final = closed("Message", {"message": TEXT})


def message(text: str) -> dict[str, object]:
    """The body of an answer that is one sentence."""
    return {"message": text}


LOGGER_LEVEL: Final = closed("LoggerLevel", {"level": TEXT, "last_modified": {"type": ["integer", "null"]}})


def logger_level(value: LoggerLevel) -> dict[str, object]:
    """The body of ``GET /admin/loggers/{logger}``."""
    return {"level": value.level, "last_modified": value.last_modified}


_KINDS: Final = ("source", "sink", "converter", "header_converter", "transformation", "predicate")
PLUGIN: Final = closed("PluginInfo", {"class": TEXT, "type": one_of(_KINDS), "version": TEXT}, optional=("version",))


def plugin(value: Plugin) -> dict[str, object]:
    """An element of ``GET /connector-plugins``. Without a version the member is absent."""
    version = {} if value.version is None else {"version": value.version}
    return {"class": value.class_name, "type": value.type, **version}


_TYPES: Final = ("BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD")
CONFIG_KEY: Final = closed(
    "ConfigKeyInfo",
    {
        "name": TEXT,
        "type": one_of(_TYPES),
        "required": BOOLEAN,
        "default_value": TEXT_OR_NULL,
        "importance": one_of(("HIGH", "MEDIUM", "LOW")),
        "documentation": TEXT,
        "group": TEXT_OR_NULL,
        "order_in_group": WHOLE,
        "width": one_of(("NONE", "SHORT", "MEDIUM", "LONG")),
        "display_name": TEXT,
        "dependents": array(TEXT),
    },
)


def config_key(key: ConfigKey) -> dict[str, object]:
    """An element of ``GET /connector-plugins/{p}/config``."""
    return {
        "name": key.name,
        "type": key.type,
        "required": key.required,
        "default_value": key.default_value,
        "importance": key.importance,
        "documentation": key.documentation,
        "group": key.group,
        "order_in_group": key.order_in_group,
        "width": key.width,
        "display_name": key.display_name,
        "dependents": key.dependents,
    }


CONFIG_VALUE: Final = closed(
    "ConfigValueInfo",
    {
        "name": TEXT,
        "value": TEXT_OR_NULL,
        "recommended_values": array(TEXT),
        "errors": array(TEXT),
        "visible": BOOLEAN,
        "warnings": array(TEXT),
    },
    optional=("warnings",),
)
CONFIG_INFO: Final = closed("ConfigInfo", {"definition": or_null(CONFIG_KEY), "value": CONFIG_VALUE})
CONFIG_INFOS: Final = closed("ConfigInfos", {"name": TEXT, "error_count": WHOLE, "groups": array(TEXT), "configs": array(CONFIG_INFO)})


def config_infos(infos: ConfigInfos, *, warnings: bool = False) -> dict[str, object]:
    """The body of ``PUT /connector-plugins/{p}/config/validate``. Connect's own entity has no ``warnings``."""
    configs = [
        {
            "definition": None if key is None else config_key(key),
            "value": _config_value(value) | ({"warnings": value.warnings} if warnings else {}),
        }
        for key, value in infos.configs
    ]
    return {"name": infos.name, "error_count": infos.error_count, "groups": infos.groups, "configs": configs}


NOTE: Final = closed(
    "Notification",
    {
        "number": WHOLE,
        "id": TEXT,
        "aggregateType": TEXT,
        "type": TEXT,
        "additionalData": or_null(mapping(TEXT)),
        "timestamp": WHOLE,
    },
)


def note(value: Note) -> dict[str, object]:
    """An element of ``GET /connectors/{c}/notifications``."""
    return {"number": value.number, **value.content}


SIGNAL_ID: Final = closed("SignalId", {"id": TEXT})


def signal_id(value: str) -> dict[str, object]:
    """The body of the answer to a signal."""
    return {"id": value}


def _config_value(value: ConfigValue) -> dict[str, object]:
    return {
        "name": value.name,
        "value": value.value,
        "recommended_values": value.recommended_values,
        "errors": value.errors,
        "visible": value.visible,
    }


def _state(value: State) -> dict[str, object]:
    trace = {"trace": value.trace} if value.trace else {}
    version = {"version": value.version} if value.versioned else {}
    return {"state": value.state, "worker_id": value.worker_id, **version, **trace}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON form.")
