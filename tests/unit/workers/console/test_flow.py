from __future__ import annotations

import orjson

from connector.delivery.progress import Progress, TableProgress
from workers.console.flow import Bar, Flow


def test_the_lag_is_known_only_while_something_waits() -> None:
    waiting = Flow.of(Progress(acknowledged_lsn=100, received_lsn=160, last_event_source_ms=1000), (), 3500)
    assert (waiting.unconfirmed, waiting.lag_ms) == (60, 2500)
    confirmed = Flow.of(Progress(acknowledged_lsn=160, received_lsn=160, last_event_source_ms=1000), (), 3500)
    assert (confirmed.unconfirmed, confirmed.lag_ms) == (0, None)
    fresh = Flow.of(Progress(received_lsn=160), (), 3500)
    assert (fresh.unconfirmed, fresh.lag_ms) == (0, None)


def test_a_flow_goes_to_another_worker_and_back() -> None:
    tables = [TableProgress("public.a", 600, 1000, 3.0), TableProgress("public.b", 20, 20, 0.1, done=True)]
    flow = Flow.of(Progress("snapshot", tables), (1.0, 2.04), 0)
    assert flow.snapshot == Bar(620, 1020, "1 of 2 tables", "2 s")
    assert Flow.of_json(orjson.loads(orjson.dumps(flow.as_json()))) == Flow("snapshot", (1.0, 2.0), 0, None, flow.snapshot)
    streaming = Flow("streaming", (), 7, 5, None)
    assert Flow.of_json(orjson.loads(orjson.dumps(streaming.as_json()))) == streaming
