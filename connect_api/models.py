"""The herder's values in Connect's JSON: member names and order as in Kafka's REST entities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson
from fastapi import Response

from connect_api.herder import (
    ConfigInfos,
    ConfigKey,
    ConfigValue,
    ConnectorInfo,
    Health,
    LoggerLevel,
    Offset,
    Plugin,
    ServerInfo,
    State,
    Status,
    TaskInfo,
)


def reply(value: object, status: int = 200, *, location: str | None = None) -> Response:
    """Answer with ``value`` as compact JSON; mappings and sequences of any kind are taken."""
    headers = None if location is None else {"Location": location}
    return Response(orjson.dumps(value, default=_plain), status_code=status, headers=headers, media_type="application/json")


def empty(status: int) -> Response:
    """Answer without a body."""
    return Response(status_code=status)


def server_info(info: ServerInfo) -> dict[str, object]:
    """Fill ``GET /``."""
    return {"version": info.version, "commit": info.commit, "kafka_cluster_id": info.kafka_cluster_id}


def health(state: Health) -> dict[str, object]:
    """Fill ``GET /health``."""
    return {"status": state.status, "message": state.message}


def connector_info(info: ConnectorInfo) -> dict[str, object]:
    """Fill ``GET /connectors/{c}``."""
    tasks = [task_id(info.name, task) for task in info.tasks]
    return {"name": info.name, "config": info.config, "tasks": tasks, "type": info.type}


def task_id(connector: str, task: int) -> dict[str, object]:
    """Name a task inside other bodies."""
    return {"connector": connector, "task": task}


def status(value: Status) -> dict[str, object]:
    """Fill ``GET /connectors/{c}/status``."""
    tasks = [task_state(task, state) for task, state in value.tasks.items()]
    return {"name": value.name, "connector": _state(value.connector), "tasks": tasks, "type": value.type}


def task_state(task: int, value: State) -> dict[str, object]:
    """Fill ``GET /connectors/{c}/tasks/{t}/status``."""
    return {"id": task, **_state(value)}


def task_info(value: TaskInfo) -> dict[str, object]:
    """Fill an element of ``GET /connectors/{c}/tasks``."""
    return {"id": task_id(value.connector, value.task), "config": value.config}


def offsets(values: Sequence[Offset]) -> dict[str, object]:
    """Fill ``GET /connectors/{c}/offsets``."""
    return {"offsets": [{"partition": value.partition, "offset": value.offset} for value in values]}


def topics(connector: str, names: Sequence[str]) -> dict[str, object]:
    """Fill ``GET /connectors/{c}/topics``."""
    return {connector: {"topics": names}}


def message(text: str) -> dict[str, object]:
    """Fill the answer of a call that has only a sentence to tell."""
    return {"message": text}


def logger_level(value: LoggerLevel) -> dict[str, object]:
    """Fill ``GET /admin/loggers/{logger}``."""
    return {"level": value.level, "last_modified": value.last_modified}


def plugin(value: Plugin) -> dict[str, object]:
    """Fill an element of ``GET /connector-plugins``; a plugin without a version has no such member."""
    version = {} if value.version is None else {"version": value.version}
    return {"class": value.class_name, "type": value.type, **version}


def config_key(key: ConfigKey) -> dict[str, object]:
    """Fill an element of ``GET /connector-plugins/{p}/config``."""
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


def config_infos(infos: ConfigInfos) -> dict[str, object]:
    """Fill ``PUT /connector-plugins/{p}/config/validate``."""
    configs = [{"definition": None if key is None else config_key(key), "value": _config_value(value)} for key, value in infos.configs]
    return {"name": infos.name, "error_count": infos.error_count, "groups": infos.groups, "configs": configs}


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
