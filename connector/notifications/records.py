"""The records of the notification channel ``sink``, in the connector's converters. Their schemas are as recorded from Debezium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connector.emulation import DEFAULT, Emulation
from connector.java.hash_map import java_order
from connector.notifications.notification import Notification
from connector.record.json_converter import ConverterSettings, around_payload, value_encoder
from connector.record.schema import INT64, STRING, Field, Schema

_KEY: Final = Schema("struct", name="io.debezium.connector.common.NotificationKey", version=1, fields=(Field("id", STRING),))

_NAME: Final = "connector_name"


def _order(additional: Mapping[str, str]) -> list[str]:
    """Return the names in the order recorded from Debezium: a Java map sized for all names except the connector's, which is added last."""
    others = [name for name in additional if name != _NAME]
    room = 1
    while room < int(len(others) / 0.75 + 1):
        room *= 2
    return java_order([*others, _NAME] if _NAME in additional else others, room)


def ordered_data(notification: Notification) -> dict[str, str] | None:
    """Return the notification's additional data in Debezium's order."""
    additional = notification.additional_data
    return None if additional is None else {name: additional[name] for name in _order(additional)}


def _value(*more: Field) -> Schema:
    texts = Schema("map", optional=True, keys=STRING, values=STRING)
    fields = (Field("id", STRING), Field("type", STRING), Field("aggregate_type", STRING), Field("additional_data", texts), *more)
    return Schema("struct", name="io.debezium.connector.common.Notification", version=1, fields=fields)


class NotificationEncoder:
    """Encodes the notifications of one connector."""

    def __init__(self, key_settings: ConverterSettings, value_settings: ConverterSettings, emulation: Emulation = DEFAULT) -> None:
        value = _value(Field("timestamp", INT64)) if emulation.dates_notifications else _value()
        self._around_key = around_payload(_KEY, key_settings)
        self._around_value = around_payload(value, value_settings)
        self._key = value_encoder(_KEY, key_settings)
        self._value = value_encoder(value, value_settings)

    def record(self, notification: Notification) -> tuple[bytes, bytes, bytes]:
        """Return the key, the constant beginning of the value, and the rest of the value."""
        members = {
            "id": notification.id,
            "type": notification.type,
            "aggregate_type": notification.aggregate_type,
            "additional_data": ordered_data(notification),
            "timestamp": notification.timestamp,
        }
        before, after = self._around_key
        key = before + self._key(members) + after
        before, after = self._around_value
        return key, before, self._value(members) + after
