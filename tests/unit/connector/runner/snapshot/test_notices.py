from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from connector.delivery.progress import TableProgress
from connector.notifications.notification import InitialNotifications, Notification
from connector.runner.notifications.notifier import Notifier
from connector.runner.snapshot.notices import SnapshotNotices


def listed(names: list[str], all_names: list[str] | None = None) -> dict[str, str]:
    """The tables that the notifications of the first table list, by the notification's type."""
    sent: list[Notification] = []
    made: Any = SimpleNamespace(initial=InitialNotifications("p", lambda: "id", lambda: 0), send=sent.append)
    notices = SnapshotNotices(cast("Notifier", made), in_parts=False)
    notices.reads([TableProgress(name) for name in names], all_names)
    notices.part_begins(0)
    notices.table_ends(0)
    return {note.type: note.additional_data["data_collections"] for note in sent if note.additional_data}


def test_tables_are_listed_as_a_java_map_lists_them_until_a_table_has_ended() -> None:
    # Recorded from Debezium 3.6.3.
    names = ["public.b", "public.c1", "public.c2", "public.a", "public.zz_end"]
    shown = listed(names, [*names, "public.dbz_signal"])
    assert shown["IN_PROGRESS"] == "public.zz_end,public.a,public.b,public.c2,public.c1"
    assert shown["TABLE_SCAN_COMPLETED"] == "public.b,public.c1,public.c2,public.a,public.zz_end,public.dbz_signal"
    assert shown["DATA_COLLECTIONS_RESOLVED"] == "public.a,public.b,public.c1,public.c2,public.dbz_signal,public.zz_end"


def test_many_tables_are_listed_in_the_order_of_a_larger_map() -> None:
    names = [f"public.t{number:02}" for number in range(40)]
    shown = listed(names)
    assert sorted(shown["IN_PROGRESS"].split(",")) == names
    assert shown["TABLE_SCAN_COMPLETED"].split(",") == names
