from connector.delivery.progress import Progress, TableProgress


def test_pace_and_estimate() -> None:
    begun = TableProgress("s.a", rows=100, estimate=400, seconds=2.0)
    progress = Progress(phase="snapshot", tables=[begun, TableProgress("s.b", done=True)])
    shown = progress.describe()
    assert shown["rows"] == 100
    assert shown["tables_done"] == 1
    assert shown["snapshot_seconds_left"] == 6.0
    assert shown["tables"] == [
        {"table": "s.a", "rows": 100, "estimate": 400, "seconds": 2.0, "done": False, "rows_per_second": 50.0, "seconds_left": 6.0},
        {"table": "s.b", "rows": 0, "estimate": -1, "seconds": 0.0, "done": True, "rows_per_second": None, "seconds_left": 0.0},
    ]


def test_without_an_estimate_nothing_is_promised() -> None:
    table = TableProgress("s.a", rows=5, estimate=-1, seconds=1.0)
    assert table.pace() == {"rows_per_second": 5.0, "seconds_left": None}
    assert Progress(tables=[table]).describe()["snapshot_seconds_left"] is None
