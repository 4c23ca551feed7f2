"""What OpenTelemetry's environment variables ask for, and that nothing of it is imported without them."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from connector.extras import install_command
from tests.support.each_case import each_case
from tests.support.log_line import log_text
from tests.support.project import ROOT
from workers.telemetry.open_telemetry import wanted as module
from workers.telemetry.open_telemetry.wanted import Wanted, wanted

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@each_case(
    ("environment", "found"),
    [
        ({}, Wanted()),
        ({ENDPOINT: "http://c:4318"}, Wanted(True, True)),
        ({ENDPOINT: " "}, Wanted()),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, Wanted(False, True)),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c:4318/v1/metrics"}, Wanted(True, False)),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, Wanted(True, False)),
        ({ENDPOINT: "http://c:4318", "OTEL_METRICS_EXPORTER": "none"}, Wanted(False, True)),
        ({ENDPOINT: "http://c:4318", "OTEL_TRACES_EXPORTER": "console"}, Wanted(True, False)),
        ({ENDPOINT: "http://c:4318", "OTEL_SDK_DISABLED": "TRUE"}, Wanted()),
    ],
)
def test_signals(environment: dict[str, str], found: Wanted) -> None:
    assert wanted(environment) == found
    assert bool(found) == (found.metrics or found.traces)


def test_what_has_no_effect_is_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        wanted({"OTEL_METRICS_EXPORTER": "otlp,prometheus", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    text = log_text(caplog.records)
    assert "names=prometheus" in text
    assert "value=grpc" in text


def test_without_the_sdk(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(module, "_MODULES", ("opentelemetry_that_is_not_there.sdk",))
    with caplog.at_level(logging.INFO):
        assert wanted({ENDPOINT: "http://c:4318"}) == Wanted()
    assert install_command("otel") in log_text(caplog.records)


def test_a_worker_without_the_variables_imports_nothing_of_it() -> None:
    code = (
        "import sys; import workers.__main__ as m; from workers.settings.worker_settings import WorkerSettings;"
        "assert m._open_telemetry(WorkerSettings.from_properties({})) is None;"
        "import workers.worker, connector.runner.task;"
        # A library may use the API, which does nothing without the SDK.
        "print([name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={"PATH": ""}, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
