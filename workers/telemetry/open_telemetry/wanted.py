"""What OpenTelemetry's environment variables ask for. Nothing of the SDK is imported to find out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from connector.extras import install_command
from connector.log import EventLog

LOG: Final = EventLog(__name__)

_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_MODULES: Final = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which signals are exported by OTLP."""

    metrics: bool = False
    traces: bool = False

    def __bool__(self) -> bool:
        return self.metrics or self.traces


def wanted(environment: Mapping[str, str]) -> Wanted:
    """Return what the variables ask for. The log says why a signal that is asked for is not exported."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Wanted()
    found = Wanted(_asked(environment, "METRICS"), _asked(environment, "TRACES"))
    if found and not _installed():
        LOG.warning("OpenTelemetry is asked for and not installed, nothing is exported", remedy=install_command("otel"))
        return Wanted()
    return found


def _asked(environment: Mapping[str, str], signal: str) -> bool:
    exporter = environment.get(f"OTEL_{signal}_EXPORTER", "").strip().lower()
    endpoint = any(environment.get(key, "").strip() for key in (_ENDPOINT, f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"))
    names = {name.strip() for name in exporter.split(",")} if exporter else ({"otlp"} if endpoint else set())
    if others := names - {"otlp", "none"}:
        LOG.warning("unknown exporter of OpenTelemetry ignored", variable=f"OTEL_{signal}_EXPORTER", names=",".join(sorted(others)))
    if "otlp" not in names:
        return False
    for key in (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        protocol = environment.get(key, "").strip().lower()
        if protocol:
            if protocol != "http/protobuf":
                LOG.warning("OTLP's protocol is always http/protobuf here", variable=key, value=protocol)
            break
    return True


def _installed() -> bool:
    try:
        return all(find_spec(module) is not None for module in _MODULES)
    except ModuleNotFoundError:
        # A parent package is missing.
        return False
