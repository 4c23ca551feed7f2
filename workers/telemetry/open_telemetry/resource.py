"""The resource that all exported data belong to: this worker."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.sdk.resources import Resource


def resource_of(environment: Mapping[str, str], worker_id: str, version: str) -> Resource:
    """Return the worker's resource. ``OTEL_SERVICE_NAME`` and ``OTEL_RESOURCE_ATTRIBUTES`` go before its own attributes."""
    own = {"service.name": "understudy", "service.instance.id": worker_id, "service.version": version}
    given = environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    chosen = {entry.partition("=")[0].strip() for entry in given.split(",")}
    if environment.get("OTEL_SERVICE_NAME", "").strip():
        chosen.add("service.name")
    return Resource.create({name: value for name, value in own.items() if name not in chosen})
