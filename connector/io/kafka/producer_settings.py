"""Converts a producer's properties to aiokafka's arguments, with Connect's rules about acknowledgements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connector.io.kafka.client import client_arguments, invalid, whole_number

_ACKS: Final = {"all": -1, "-1": -1, "1": 1, "0": 0}
_MAX_REQUEST: Final = 1_048_576


def producer_arguments(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of aiokafka's producer. Raises CdcError(CONFIG_INVALID), which names the property.

    As in Kafka, ``acks`` other than ``all`` switches idempotence off. If ``enable.idempotence`` is true, such a value is an error.
    """
    text = properties.get("acks", "all").strip().lower()
    if text not in _ACKS:
        raise invalid("acks", text, f"choose one of {', '.join(_ACKS)}")
    acks = _ACKS[text]
    wanted = properties.get("enable.idempotence", "").strip().lower()
    if wanted not in ("", "true", "false"):
        raise invalid("enable.idempotence", wanted, "write true or false")
    if wanted == "true" and acks != -1:
        raise invalid("acks", text, "enable.idempotence needs acks=all")
    linger_s(properties)
    return {
        # If the broker creates a topic, the client polls until it exists. The default pause of 100 ms would delay the first event.
        "retry_backoff_ms": 25,
        **client_arguments(properties),
        "acks": acks,
        "enable_idempotence": acks == -1 and wanted != "false",
        # The stream waits itself (:func:`linger_s`), before it makes the records.
        "linger_ms": 0,
        "max_request_size": max_request_size(properties),
    }


def linger_s(properties: Mapping[str, str]) -> float:
    """Return for how long records may wait for others; 0 unless ``linger.ms`` is set, although Kafka's own default is 5 ms."""
    return whole_number(properties, "linger.ms", kind="LONG") / 1000


def max_request_size(properties: Mapping[str, str]) -> int:
    """Return the most bytes of one request."""
    return whole_number(properties, "max.request.size", _MAX_REQUEST)
