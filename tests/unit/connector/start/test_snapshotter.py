"""The calls of a user's snapshot classes, and the effects of their answers. The cases were recorded from 3.6.3."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from connector.catalog.selection import Selection
from connector.catalog.table import CatalogTable
from connector.config.connector_config import ConnectorConfig, parse
from connector.config.validation import error_lines, validate, warning_lines
from connector.delivery.offsets import StoredOffset
from connector.emulation import DEBEZIUM_2_3_4
from connector.errors import CdcError, ErrorKind
from connector.plugins.allowed import AllowedPlugins
from connector.runner.snapshot.custom import custom_snapshot
from connector.snapshot.plan import lock_statements
from connector.start.decision import FROM_SLOT, FROM_SNAPSHOT, Decision, SlotState, decide
from connector.start.snapshotter import CustomSnapshot, OffsetFacts, SlotFacts, Snapshotter
from connector.types.codec import Column
from tests.support.each_case import each_case
from tests.support.probe_snapshotters import AllInOne, Lock, Probe, Query, Wordy

BASE = {
    "name": "c",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "nowhere",
    "database.user": "nobody",
    "database.dbname": "shop",
    "topic.prefix": "srv",
}
MODULE = "tests.support.probe_snapshotters"
PLUGINS = AllowedPlugins.parse(MODULE)
CUSTOM = {"snapshot.mode": "custom", "snapshot.mode.custom.name": f"{MODULE}:Probe"}
SLOT = SlotState(
    name="s",
    plugin="pgoutput",
    logical=True,
    same_database=True,
    database="shop",
    active=True,
    holder="",
    restart=100,
    confirmed=200,
    wal_status="reserved",
)
STREAMED = StoredOffset.parse({"lsn": 200, "lsn_commit": 200, "messageType": "COMMIT", "txId": 5})
BEHIND = StoredOffset.parse({"lsn": 50, "lsn_commit": 50, "messageType": "COMMIT", "txId": 5})
BROKEN = StoredOffset.parse({"lsn": 150, "snapshot": "INITIAL", "snapshot_completed": False, "last_snapshot_record": False})
TABLE = CatalogTable(9, 's"x', "Odd Orders", (Column("id", 23), Column('a "b"', 25)), ("id",))


def read(**more: str) -> ConnectorConfig:
    config, _notices = parse({**BASE, **{name.replace("__", "."): value for name, value in more.items()}})
    return config


def decided(
    properties: Mapping[str, str], slot: SlotState | None, offset: StoredOffset | None, strategy: str = "no_validation"
) -> tuple[Decision, list[object]]:
    probe = Probe()
    mode = CustomSnapshot(probe, properties=properties).mode(offset, slot)
    probe.asked.clear()
    return decide(mode, slot, offset, strategy), probe.asked


YES: dict[str, str] = {"probe.data": "true"}
NO = {"probe.data": "false"}
FIRST = {"probe.data": "first"}
MENDS = {"probe.ondata": "true"}
ALONE = {"probe.stream": "false"}
AFTER = {"probe.fromsnapshot": "false"}


@each_case(
    ("properties", "slot", "offset", "asked", "create", "snapshot", "start"),
    [
        (YES, None, None, (False, False), True, True, FROM_SNAPSHOT),
        (NO, None, None, (False, False), True, False, FROM_SNAPSHOT),
        (YES, SLOT, None, (False, False), False, True, FROM_SNAPSHOT),
        (NO, SLOT, None, (False, False), False, False, FROM_SLOT),
        (YES, SLOT, STREAMED, (True, False), False, True, FROM_SNAPSHOT),
        (FIRST, SLOT, STREAMED, (True, False), False, False, 200),
        (FIRST, SLOT, BROKEN, (True, True), False, True, FROM_SLOT),
        (NO, SLOT, BROKEN, (True, True), False, False, FROM_SLOT),
        (FIRST, None, BROKEN, (True, True), True, True, FROM_SNAPSHOT),
        # Lost changes: as if there were no offset, and the answer may still be no.
        (FIRST | MENDS, None, STREAMED, (False, False), True, True, FROM_SNAPSHOT),
        (NO | MENDS, None, STREAMED, (False, False), True, False, FROM_SNAPSHOT),
        (FIRST | MENDS, SLOT, BEHIND, (False, False), False, True, FROM_SNAPSHOT),
        (NO | MENDS, SLOT, BEHIND, (False, False), False, False, FROM_SLOT),
        (FIRST | MENDS, replace(SLOT, wal_status="lost"), STREAMED, (False, False), True, True, FROM_SNAPSHOT),
    ],
)
def test_it_is_asked_once_and_decides(
    properties: dict[str, str],
    slot: SlotState | None,
    offset: StoredOffset | None,
    asked: tuple[bool, bool],
    create: bool,
    snapshot: bool,
    start: int,
) -> None:
    decision, questions = decided(properties, slot, offset)
    assert questions == [asked]
    assert (decision.create_slot, decision.snapshot, decision.stream, decision.start) == (create, snapshot, True, start)
    assert decision.catch_up == 0


@pytest.mark.parametrize("properties", [YES, NO])
@pytest.mark.parametrize(("slot", "offset"), [(None, STREAMED), (SLOT, BEHIND), (replace(SLOT, wal_status="lost"), STREAMED)])
def test_lost_changes_end_the_task_unless_the_snapshotter_reads_them_again(
    properties: dict[str, str], slot: SlotState | None, offset: StoredOffset
) -> None:
    with pytest.raises(CdcError) as told:
        decided(properties, slot, offset)
    assert told.value.kind in (ErrorKind.SLOT_MISMATCH, ErrorKind.SLOT_LOST)


@pytest.mark.parametrize(
    ("properties", "offset", "asked", "snapshot"),
    [(YES, STREAMED, (True, False), True), (FIRST, STREAMED, (True, False), False), (FIRST, None, (False, False), True)],
)
def test_without_a_stream_no_slot_is_needed(
    properties: dict[str, str], offset: StoredOffset | None, asked: tuple[bool, bool], snapshot: bool
) -> None:
    decision, questions = decided(properties | ALONE, None, offset)
    assert questions == [asked]
    assert (decision.create_slot, decision.snapshot, decision.stream) == (False, snapshot, False)


def test_the_changes_until_now_may_come_first() -> None:
    decision, _ = decided(YES | AFTER, SLOT, STREAMED)
    assert (decision.snapshot, decision.start, decision.catch_up, decision.offset) == (True, FROM_SNAPSHOT, 200, STREAMED)
    # Without a position to go on from there is nothing to catch up with.
    assert decided(YES | AFTER, SLOT, None)[0].catch_up == 0
    assert decided(FIRST | AFTER, SLOT, STREAMED)[0].catch_up == 0


def test_a_trusted_slot_does_not_hide_its_wish() -> None:
    decision, questions = decided(YES, replace(SLOT, confirmed=900), STREAMED, "trust_slot")
    assert (decision.snapshot, decision.start, questions) == (True, FROM_SNAPSHOT, [(True, False)])
    decision, _ = decided(FIRST, replace(SLOT, confirmed=900), STREAMED, "trust_slot")
    assert (decision.snapshot, decision.start) == (False, 900)


@pytest.mark.parametrize(
    ("properties", "slot", "offset", "asked", "snapshot", "start"),
    [
        (FIRST, None, None, (False, False), True, FROM_SNAPSHOT),
        (FIRST, SLOT, BROKEN, (True, True), True, FROM_SLOT),
        (FIRST, SLOT, STREAMED, (True, False), False, 200),
        (YES, SLOT, STREAMED, (True, False), True, FROM_SNAPSHOT),
        # Whatever was lost, its snapshot makes up for it.
        (YES, None, STREAMED, (True, False), True, FROM_SNAPSHOT),
        (YES, SLOT, BEHIND, (True, False), True, FROM_SNAPSHOT),
        (NO, SLOT, None, (False, False), False, FROM_SLOT),
    ],
)
def test_as_2_3_4_it_is_asked_about_what_is_stored(
    properties: dict[str, str],
    slot: SlotState | None,
    offset: StoredOffset | None,
    asked: tuple[bool, bool],
    snapshot: bool,
    start: int,
) -> None:
    probe = Probe()
    mode = CustomSnapshot(probe, properties=properties).mode(offset, slot, emulation=DEBEZIUM_2_3_4)
    decision = decide(mode, slot, offset, "no_validation")
    assert probe.asked[2:] == [asked]
    assert (decision.snapshot, decision.start) == (snapshot, start)


def test_as_2_3_4_a_loss_that_no_snapshot_makes_up_for_still_ends_the_task() -> None:
    mode = CustomSnapshot(Probe(), properties=FIRST).mode(STREAMED, None, emulation=DEBEZIUM_2_3_4)
    with pytest.raises(CdcError, match="the replication slot is gone"):
        decide(mode, None, STREAMED, "no_validation")


def test_it_sees_what_is_there() -> None:
    probe = Probe()
    custom = CustomSnapshot(probe, properties={"a": "b"})
    assert probe.properties == {"a": "b"}
    custom.mode(BROKEN, SLOT)
    assert probe.asked == [OffsetFacts(150, None, snapshot_in_progress=True), SlotFacts("s", "pgoutput", True, 100, 200, "reserved")]
    probe.asked.clear()
    custom.mode(None, None)
    assert probe.asked == [None, None]


def test_names_are_given_quoted() -> None:
    query = Query()
    custom = CustomSnapshot(query=query, properties={'probe.query."s""x"."Odd Orders"': "SELECT 1"})
    assert custom.queries
    assert custom.query(TABLE, ["id", 'a "b"']) == "SELECT 1"
    assert query.tables == [('"s""x"."Odd Orders"', ['"id"', '"a ""b"""'])]
    assert custom.query(replace(TABLE, table="other"), ["id"]) is None


def test_locks_have_a_limit_of_time() -> None:
    properties = {"probe.lock": "LOCK TABLE %t /* %ms */;", "probe.unlocked": '"public"."b"'}
    custom = CustomSnapshot(lock=Lock(), properties=properties)
    a, b = (CatalogTable(1, "public", name, ()) for name in "ab")
    assert custom.locks([a, b], 700) == ["SET LOCAL lock_timeout = 700", 'LOCK TABLE "public"."a" /* 700 */;']
    assert custom.locks([b], 700) == []
    # A reader process must not wait for ever for what the worker has locked.
    assert lock_statements("custom", [a], 700) == ["SET LOCAL lock_timeout = 700"]


def test_nothing_is_asked_of_nobody() -> None:
    custom = CustomSnapshot()
    assert (custom.decides, custom.queries, custom.locks([TABLE], 1), custom.query(TABLE, [])) == (False, False, [], None)
    custom.completed()
    custom.aborted()


def told(custom: CustomSnapshot) -> CdcError:
    mode = custom.mode(None, None)
    with pytest.raises(CdcError) as caught:
        decide(mode, None, None, "no_validation")
    return caught.value


def test_an_exception_is_reported_only_by_type_and_place() -> None:
    error = told(CustomSnapshot(Probe(), properties={"probe.data": "throw"}))
    assert error.kind is ErrorKind.CONFIG_INVALID
    assert error.message.startswith(f"The custom snapshotter {MODULE}:Probe raised ValueError at ")
    assert error.message.endswith(" in should_snapshot_data, asked for should_snapshot_data")
    assert "nobody may see" not in str(error)


def test_an_answer_of_the_wrong_type_is_refused() -> None:
    assert told(CustomSnapshot(Wordy())).message == (
        f"The custom snapshotter {MODULE}:Wordy answered str, not True or False, asked for should_snapshot_data"
    )
    blank = CustomSnapshot(query=Query(), properties={'probe.query."s""x"."Odd Orders"': " "})
    with pytest.raises(CdcError, match="answered blanks, not a statement or None, asked for snapshot_query"):
        blank.query(TABLE, [])


@pytest.mark.parametrize("method", ["configure", "look", "should_stream", "snapshot_completed"])
def test_each_method_may_fail(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bool:
        raise RuntimeError

    fail.__name__ = method
    monkeypatch.setattr(Probe, method, fail)
    with pytest.raises(CdcError, match=rf"Probe raised RuntimeError at .* asked for {method}"):
        run(CustomSnapshot(Probe()))


def run(custom: CustomSnapshot) -> None:
    custom.mode(None, None)
    custom.completed()


def test_classes_are_found_by_the_configuration() -> None:
    config = read(
        **{
            **CUSTOM,
            "snapshot.query.mode": "custom",
            "snapshot.query.mode.custom.name": f"{MODULE}:Query",
            "snapshot.locking.mode": "custom",
            "snapshot.locking.mode.custom.name": f"{MODULE}:Lock",
            "probe.lock": "LOCK TABLE %t",
        }
    )
    custom = custom_snapshot(Selection.of(config), PLUGINS)
    assert (custom.decides, custom.queries) == (True, True)
    assert custom.locks([TABLE], 5) == ["SET LOCAL lock_timeout = 5", 'LOCK TABLE "s""x"."Odd Orders"']
    plain = custom_snapshot(Selection.of(read(**{"snapshot.mode.custom.name": f"{MODULE}:Probe"})), PLUGINS)
    assert (plain.decides, plain.queries) == (False, False)


def test_one_class_for_all_is_2_x() -> None:
    former = {"connector.plugin.version": "2.3.4.Final", "snapshot.mode": "custom", "probe.lock": "LOCK TABLE %t"}
    custom = custom_snapshot(Selection.of(read(**former, **{"snapshot.custom.class": f"{MODULE}:AllInOne"})), PLUGINS)
    assert (custom.decides, custom.queries) == (True, True)
    assert len(custom.locks([TABLE], 5)) == 2
    probe = {**CUSTOM, "snapshot.mode.custom.name": f"{MODULE}:AllInOne", "probe.lock": "LOCK TABLE %t"}
    now = custom_snapshot(Selection.of(read(**probe)), PLUGINS)
    assert (now.decides, now.queries, now.locks([TABLE], 5)) == (True, False, [])


@pytest.mark.parametrize("mode", ["always", "initial_only", "configuration_based"])
def test_the_name_of_a_mode_is_that_mode(mode: str) -> None:
    config = read(**{**CUSTOM, "snapshot.mode.custom.name": mode})
    chosen = Selection.of(config).mode
    assert chosen is not None
    assert chosen.name == mode
    assert not custom_snapshot(Selection.of(config), PLUGINS).decides


@pytest.mark.parametrize(
    ("setting", "mode", "kind"),
    [
        ("snapshot.mode.custom.name", "snapshot.mode", "snapshotters"),
        ("snapshot.query.mode.custom.name", "snapshot.query.mode", "snapshot_queries"),
        ("snapshot.locking.mode.custom.name", "snapshot.locking.mode", "snapshot_locks"),
    ],
)
def test_unknown_classes_are_refused_with_the_property(setting: str, mode: str, kind: str) -> None:
    config = {**BASE, mode: "custom", setting: "com.example.Mine"}
    assert error_lines(validate(config)) == []
    [refused] = warning_lines(validate(config))
    with pytest.raises(CdcError, match=re.escape(refused)):
        parse(config)
    assert refused == (
        f"The '{setting}' value is invalid: It names the Java class com.example.Mine, and Java classes cannot be loaded; write it again in"
        " Python (`understudy docs extending`) and name it as package.module:Class"
    )
    assert error_lines(validate({**BASE, setting: "com.example.Mine"})) == []
    for name, words in (("mine", f"no entry point in the group understudy.{kind}"), (f"{MODULE}:Wordless", "no class Wordless")):
        with pytest.raises(CdcError, match=words) as caught:
            custom_snapshot(Selection.of(read(**{mode: "custom", setting: name})), PLUGINS)
        assert (caught.value.kind, setting in caught.value.message) == (ErrorKind.CONFIG_INVALID, True)
    for wrong, words in (("OffsetFacts", "no class OffsetFacts of its own"), ("Other", "does not derive from")):
        with pytest.raises(CdcError, match=words):
            custom_snapshot(Selection.of(read(**{mode: "custom", setting: f"{MODULE}:{wrong}"})), PLUGINS)


def test_a_property_of_the_class_is_not_called_unknown() -> None:
    def notices(**settings: str) -> list[str]:
        return parse({**BASE, "orders.since": "2026-01-01", "tabel.include.list": "a", **settings})[1]

    misspelt = "Property tabel.include.list is unknown and has no effect; did you mean table.include.list?"
    assert notices(**CUSTOM) == [misspelt]
    assert notices() == ["Property orders.since is unknown and has no effect.", misspelt]


def test_one_object_is_configured_once() -> None:
    calls = []

    class Counted(AllInOne):
        def configure(self, properties: Mapping[str, str]) -> None:
            calls.append(properties)

    one = Counted()
    CustomSnapshot(one, one, one, {"a": "b"})
    assert calls == [{"a": "b"}]
    assert isinstance(one, Snapshotter)
