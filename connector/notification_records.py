"""Notifications as records of the channel ``sink``: Connect schemas as recorded from the reference, through the connector's converters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connector.java_map import java_order
from connector.json_converter import around_payload, value_encoder
from connector.notifications import Notification
from connector.ports import ConverterSettings
from connector.schema import INT64, STRING, Field, Schema

_KEY: Final = Schema("struct", name="io.debezium.connector.common.NotificationKey", version=1, fields=(Field("id", STRING),))

_NAME: Final = "connector_name"


def _order(additional: Mapping[str, str]) -> list[str]:
    """As recorded: a Java map with room for all but the connector's name, which is put in last."""
    others = [name for name in additional if name != _NAME]
    room = 1
    while room < int(len(others) / 0.75 + 1):
        room *= 2
    return java_order([*others, _NAME] if _NAME in additional else others, room)


def _value(*more: Field) -> Schema:
    texts = Schema("map", optional=True, keys=STRING, values=STRING)
    fields = (Field("id", STRING), Field("type", STRING), Field("aggregate_type", STRING), Field("additional_data", texts), *more)
    return Schema("struct", name="io.debezium.connector.common.Notification", version=1, fields=fields)


class NotificationEncoder:
    """Encodes the notifications of one connector; those of 2.3.4 (``former``) have no timestamp."""

    def __init__(self, key_settings: ConverterSettings, value_settings: ConverterSettings, *, former: bool = False) -> None:
        value = _value() if former else _value(Field("timestamp", INT64))
        self._around_key = around_payload(_KEY, key_settings)
        self._around_value = around_payload(value, value_settings)
        self._key = value_encoder(_KEY, key_settings)
        self._value = value_encoder(value, value_settings)

    def record(self, notification: Notification) -> tuple[bytes, bytes, bytes]:
        """Key, the value's constant beginning, and the rest of the value."""
        additional = notification.additional_data
        members = {
            "id": notification.id,
            "type": notification.type,
            "aggregate_type": notification.aggregate_type,
            "additional_data": None if additional is None else {name: additional[name] for name in _order(additional)},
            "timestamp": notification.timestamp,
        }
        before, after = self._around_key
        key = before + self._key(members) + after
        before, after = self._around_value
        return key, before, self._value(members) + after
