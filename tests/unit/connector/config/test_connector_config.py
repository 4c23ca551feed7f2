"""Reading a configuration into values."""

import types
from dataclasses import replace
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from connector.config.connector_config import UNREAD, ColumnMask, ConnectorConfig, KeyColumns, ReplicaIdentity, parse
from connector.config.keys import ALIASES, CONNECTOR_CLASS, FORMER_VALUES, KEYS, Alias, Key
from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_6_3
from connector.errors import CdcError, ErrorKind
from tests.support.each_case import each_case

MINIMAL = {
    "name": "shop",
    "connector.class": CONNECTOR_CLASS,
    "topic.prefix": "shop",
    "database.hostname": "db.example",
    "database.user": "replicator",
    "database.dbname": "shop",
}
READ = [key for key in KEYS if key.name not in UNREAD]


def config(settings: dict[str, str]) -> ConnectorConfig:
    return parse({**MINIMAL, **settings})[0]


def notices(settings: dict[str, str]) -> list[str]:
    return parse({**MINIMAL, **settings})[1]


def problem(settings: dict[str, str]) -> str:
    with pytest.raises(CdcError) as caught:
        parse({**MINIMAL, **settings})
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
    return caught.value.message


@each_case("key", READ, ids=lambda key: key.name)
def test_every_property_has_an_attribute_of_its_type(key: Key) -> None:
    hint = get_type_hints(ConnectorConfig)[key.attribute]
    expected: Any = {"BOOLEAN": bool, "INT": int, "LONG": int, "SHORT": int, "LIST": tuple[str, ...]}.get(key.type, str)
    optional = get_origin(hint) is types.UnionType
    bare = next(part for part in get_args(hint) if part is not type(None)) if optional else hint
    assert bare == expected

    value = getattr(config({}), key.attribute)
    assert value is not None or optional, "a value that may be None is declared so"
    assert isinstance(value, tuple if key.type == "LIST" else (expected, type(None)))


def test_no_attribute_is_without_a_property() -> None:
    packed = {
        "raw",
        "emulation",
        "column_masks",
        "column_converters",
        "reselect_rules",
        "key_columns",
        "replica_identities",
        "snapshot_select_overrides",
        "snapshot_thread_multipliers",
        "slot_stream_options",
        "initial_statements",
        "topic_creation",
        "driver",
    }
    assert set(get_type_hints(ConnectorConfig)) == {key.attribute for key in READ} | packed


def test_defaults() -> None:
    plain, lines = parse(MINIMAL)
    assert lines == []
    assert plain.raw == MINIMAL
    assert plain.emulation is DEBEZIUM_3_6_3
    assert plain.connector_plugin_version == "3.6.3.Final"
    assert plain.database_port == 5432
    assert plain.database_password is None
    assert plain.database_tcp_keep_alive is True
    assert plain.plugin_name is None
    assert plain.lsn_flush_mode == "connector"
    assert plain.offset_mismatch_strategy == "no_validation"
    assert plain.skipped_operations == ("t",)
    assert plain.table_include_list == ()
    assert plain.incremental_snapshot_watermarking_strategy == "insert_insert"
    assert plain.snapshot_fetch_size is None
    assert plain.errors_max_retries == -1
    assert plain.topic_heartbeat_prefix == "__debezium-heartbeat"
    assert plain.unavailable_value_placeholder == "__debezium_unavailable_value"
    assert plain.topic_creation == {}


def test_values_are_parsed_as_in_java() -> None:
    read_values = config(
        {
            "database.port": "+5433",
            "tombstones.on.delete": " FALSE ",
            "snapshot.mode": " No_Data ",
            "tasks.max": " 1 ",
            "database.sslmode": "Verify-Full",
            "skipped.operations": "c, u ,",
        }
    )
    assert read_values.database_port == 5433
    assert read_values.tombstones_on_delete is False
    assert read_values.snapshot_mode == "no_data"
    assert read_values.tasks_max == 1
    assert read_values.database_sslmode == "verify-full"
    assert read_values.skipped_operations == ("c", "u")


def test_lists_of_regular_expressions_keep_escaped_commas() -> None:
    listed = config({"table.include.list": r" public\.a , public\.b{1\,2},,(?i)x ", "signal.enabled.channels": ""})
    assert listed.table_include_list == (r"public\.a", r"public\.b{1,2}", "(?i)x")
    assert listed.signal_enabled_channels == ()


def test_an_empty_optional_value_is_none_and_an_empty_required_word_stays() -> None:
    emptied = config({"heartbeat.action.query": " ", "database.sslcert": "", "unavailable.value.placeholder": ""})
    assert emptied.heartbeat_action_query is None
    assert emptied.database_sslcert is None
    assert emptied.unavailable_value_placeholder == ""


def test_the_representation_holds_no_secret() -> None:
    secret = config(
        {
            "database.password": "s3cret-1",
            "database.sslpassword": "s3cret-2",
            "column.mask.hash.SHA-256.with.salt.s3cret-3": "public.t.c",
            "driver.password": "s3cret-4",
            "producer.override.sasl.jaas.config": "s3cret-5",
            "admin.override.sasl.jaas.config": "s3cret-6",
        }
    )
    assert secret.database_password == "s3cret-1"
    assert secret.column_masks[0].salt == "s3cret-3"
    assert "s3cret" not in repr(secret)


@each_case("alias", ALIASES, ids=lambda alias: alias.old)
def test_a_former_name_stands_for_the_new_one_and_is_reported_once(alias: Alias) -> None:
    key = next(key for key in KEYS if key.name == alias.new)
    if key.support == "refused":
        with pytest.raises(CdcError):
            parse({**MINIMAL, alias.old: "mine"})
        return
    word = {"BOOLEAN": "true", "INT": "7"}.get(key.type) or (key.choices[0] if key.choices else "mine")
    old, new = alias.values[0] if alias.values else (word, word)
    others = {name: value for name, value in MINIMAL.items() if name != alias.new}

    made, lines = parse({**others, alias.old: old})

    assert getattr(made, key.attribute) == getattr(config({alias.new: new}), key.attribute)
    reported = [line for line in lines if line.startswith(f"Property {alias.old} is a former name")]
    assert [alias.new in line for line in reported] == [True]


@each_case("alias", ALIASES, ids=lambda alias: alias.old)
def test_the_new_name_counts_beside_a_former_one_and_one_line_names_the_former(alias: Alias) -> None:
    key = next(key for key in KEYS if key.name == alias.new)
    word = {"BOOLEAN": "false", "INT": "7", "LIST": "c"}.get(key.type) or (key.choices[0] if key.choices else "mine")

    made, lines = parse({**MINIMAL, alias.old: alias.values[-1][0] if alias.values else "other", alias.new: word})

    assert getattr(made, key.attribute) == getattr(config({alias.new: word}), key.attribute)
    assert [line for line in lines if line.startswith(f"Property {alias.old} ")] == [
        f"Property {alias.old} is a former name of {alias.new}; both are set, and {alias.new} counts."
    ]


@pytest.mark.parametrize(
    "settings",
    [
        {"table.whitelist": "("},
        {"rows.fetch.size": "many"},
        {"sanitize.field.names": "perhaps"},
        {"truncate.handling.mode": "sometimes"},
        {"table.whitelist": "public.a", "table.exclude.list": "public.b"},
        {"table.blacklist": "public.a", "table.include.list": "public.b"},
    ],
    ids=",".join,
)
def test_a_former_name_that_the_new_one_refuses_has_no_effect_as_in_the_reference(settings: dict[str, str]) -> None:
    former = next(iter(settings))
    made, lines = parse({**MINIMAL, **settings})
    assert (made.table_include_list, made.table_exclude_list, made.snapshot_fetch_size, made.field_name_adjustment_mode) == tuple(
        getattr(config({name: value for name, value in settings.items() if name != former}), attribute)
        for attribute in ("table_include_list", "table_exclude_list", "snapshot_fetch_size", "field_name_adjustment_mode")
    )
    [line] = [line for line in lines if former in line]
    assert "has no effect" in line


LATER = {
    "extended.headers.enabled": "false",
    "topic.heartbeat.name": "beats",
    "guardrail.collections.max": "3",
    "guardrail.collections.limit.action": "fail",
    "offset.mismatch.strategy": "trust_slot",
    "slot.seek.to.known.offset.on.start": "true",
    "lsn.flush.mode": "manual",
    "publish.via.partition.root": "true",
    "slot.failover": "true",
    "incremental.snapshot.watermarking.strategy": "insert_delete",
    "snapshot.isolation.mode": "read_committed",
    "snapshot.locking.mode": "shared",
    "snapshot.query.mode": "custom",
    "event.converting.failure.handling.mode": "fail",
}


@each_case("name", LATER)
def test_what_version_2_does_not_know_has_no_effect_there(name: str) -> None:
    former = {**MINIMAL, "connector.plugin.version": "2.3.4.Final"}
    plain, before = parse(former)
    made, lines = parse({**former, name: LATER[name]})
    assert replace(made, raw={}) == replace(plain, raw={})
    assert [line for line in lines if line not in before] == [f"Property {name} is unknown to version 2.3.4.Final and has no effect."]
    assert parse({**former, name: "\0"})[0] == replace(plain, raw={**former, name: "\0"})
    later, lines = parse({**MINIMAL, name: LATER[name], "snapshot.query.mode.custom.name": "mine:Query"})
    assert replace(later, raw={}) != replace(config({}), raw={})
    assert not [line for line in lines if "unknown" in line]


def test_version_2_reads_the_former_name_of_what_it_does_not_know() -> None:
    former = {**MINIMAL, "connector.plugin.version": "2.3.4.Final"}
    made, _ = parse({**former, "flush.lsn.source": "false", "lsn.flush.mode": "connector"})
    assert made.lsn_flush_mode == "manual"
    assert parse({**former, "lsn.flush.mode": "manual"})[0].lsn_flush_mode == "connector"


def test_a_malformed_former_name_of_the_prefix_is_reported() -> None:
    others = {name: value for name, value in MINIMAL.items() if name != "topic.prefix"}
    with pytest.raises(CdcError, match=r"topic\.prefix.*has invalid format"):
        parse({**others, "database.server.name": "a b"})


@pytest.mark.parametrize(("old", "new"), list(FORMER_VALUES["snapshot.mode"].items()))
def test_former_snapshot_modes_work(old: str, new: str) -> None:
    assert config({"snapshot.mode": old.upper()}).snapshot_mode == new
    assert [f"write snapshot.mode={new}" in line for line in notices({"snapshot.mode": old})] == [True]


def test_a_mode_of_the_emulated_version_is_not_deprecated() -> None:
    made, lines = parse({**MINIMAL, "connector.plugin.version": "2.3.4.Final", "snapshot.mode": "never"})
    assert made.emulation is DEBEZIUM_2_3_4
    assert made.connector_plugin_version == "2.3.4.Final"
    assert made.snapshot_mode == "no_data"
    assert lines == []


def test_every_problem_is_reported_in_one_line() -> None:
    message = problem({"slot.name": "B", "table.include.list": "a(", "column.mask.with.5.chars": "[", "transforms": "t"})
    assert "\n" not in message
    for part in ("'slot.name'", "'table.include.list'", "'column.mask.with.5.chars'", '"transforms.t.type"', "error(s)"):
        assert part in message


def test_masks_are_read_in_order() -> None:
    masks = config(
        {
            "column.mask.with.5.chars": r"a\.b\.c,d",
            "column.truncate.to.10.chars": "e",
            "column.mask.hash.SHA-256.with.salt.p.q": "f",
            "column.mask.hash.v2.MD5.with.salt.r": "g",
        }
    ).column_masks
    assert masks == (
        ColumnMask("mask", (r"a\.b\.c", "d"), 5, key="column.mask.with.5.chars"),
        ColumnMask("truncate", ("e",), 10, key="column.truncate.to.10.chars"),
        ColumnMask("hash", ("f",), digest="sha256", salt="p.q", key="column.mask.hash.SHA-256.with.salt.…"),
        ColumnMask("hash_v2", ("g",), digest="md5", salt="r", key="column.mask.hash.v2.MD5.with.salt.…"),
    )


@pytest.mark.parametrize(
    ("name", "value", "reported"),
    [
        ("column.mask.with.5.chars", "(", "Unclosed group near index 1"),
        ("column.truncate.to.99999999999.chars", "a", "A length of 0 to 2147483647"),
        ("column.mask.with.99999999999.chars", "a", "A length of 0 to 2147483647"),
        ("column.mask.hash.NOPE.with.salt.pepper", "a", "There is no digest algorithm NOPE"),
    ],
)
def test_a_malformed_mask_is_reported_without_its_salt(name: str, value: str, reported: str) -> None:
    message = problem({name: value})
    assert reported in message
    assert "pepper" not in message


def test_a_text_may_be_cut_to_nothing_but_not_in_2_3_4() -> None:
    cut = {"column.truncate.to.0.chars": "a"}
    assert [mask.length for mask in config(cut).column_masks] == [0]
    assert "A length of 1 to" in problem({"connector.plugin.version": "2.3.4.Final", **cut})


def test_message_keys_are_read() -> None:
    assert config({"message.key.columns": r" public\.a : x, y;(.*).b:z;"}).key_columns == (
        KeyColumns(r"public\.a", ("x", "y")),
        KeyColumns("(.*).b", ("z",)),
    )
    assert "Unclosed group" in problem({"message.key.columns": "a(:c"})


def test_replica_identities_are_read() -> None:
    assert config({"replica.identity.autoset.values": "public.a:full, public.b:INDEX idx,c.d:NOTHING"}).replica_identities == (
        ReplicaIdentity("public.a", "FULL"),
        ReplicaIdentity("public.b", "INDEX", "idx"),
        ReplicaIdentity("c.d", "NOTHING"),
    )


def test_select_overrides_are_read() -> None:
    statement = "SELECT * FROM public.a WHERE id > 5"
    settings = {"snapshot.select.statement.overrides": "public.a,public.b", "snapshot.select.statement.overrides.public.a": statement}
    assert config(settings).snapshot_select_overrides == {"public.a": statement}
    assert [line for line in notices(settings) if "public.b" in line] == [
        (
            "Property snapshot.select.statement.overrides names public.b, but "
            "snapshot.select.statement.overrides.public.b holds no statement; it is read as usual."
        )
    ]


def test_slot_parameters_are_read() -> None:
    settings = {"slot.stream.params": "messages=true; origin = none;;x"}
    assert config(settings).slot_stream_options == {"messages": "true", "origin": "none"}
    assert len(notices(settings)) == 1


def test_initial_statements_are_split() -> None:
    text = "SET a TO 1; SELECT ';;' ;"
    assert config({"database.initial.statements": text}).initial_statements == ("SET a TO 1", "SELECT ';'")


def test_topic_creation_is_read_by_group() -> None:
    made = config(
        {
            "topic.creation.groups": "big, small",
            "topic.creation.default.partitions": "3",
            "topic.creation.default.replication.factor": " -1 ",
            "topic.creation.default.cleanup.policy": "compact",
            "topic.creation.big.include": "shop\\.a.*",
            "topic.creation.big.partitions": "12",
            "topic.creation.other.partitions": "1",
        }
    )
    assert made.topic_creation == {
        "default": {"partitions": "3", "replication.factor": "-1", "cleanup.policy": "compact"},
        "big": {"include": "shop\\.a.*", "partitions": "12"},
    }


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"topic.creation.groups": "g"}, 'Missing required configuration "topic.creation.default.replication.factor"'),
        ({"topic.creation.default.partitions": "1"}, 'Missing required configuration "topic.creation.default.replication.factor"'),
        ({"topic.creation.default.partitions": "x"}, "topic.creation.default.partitions: Not a number of type INT"),
        ({"topic.creation.default.replication.factor": "0"}, "Value must be -1"),
        ({"topic.creation.default.replication.factor": "32768"}, "replication.factor: Not a number of type SHORT"),
    ],
)
def test_topic_creation_is_checked(settings: dict[str, str], reported: str) -> None:
    assert reported in problem(settings)


def test_pass_through_settings_lose_their_prefix() -> None:
    made = config(
        {
            "database.ApplicationName": "one",
            "driver.ApplicationName": "two",
            "database.options": "-c x=1",
            "database.history.kafka.topic": "h",
            "snapshot.max.threads.multiplier.public.t": "4",
        }
    )
    assert made.driver == {"ApplicationName": "two", "options": "-c x=1"}
    assert made.snapshot_thread_multipliers == {"public.t": 4}


def test_a_malformed_unlisted_value_gives_way_to_its_default() -> None:
    settings = {"read.only": "maybe", "offset.mismatch.strategy": "bogus"}
    made = config(settings)
    assert made.read_only is False
    assert made.offset_mismatch_strategy == "no_validation"
    assert notices(settings) == [
        "Property read.only is malformed (Either 'true' or 'false' is expected); its default counts: false.",
        (
            "Property offset.mismatch.strategy is malformed (Value must be one of no_validation, trust_offset, trust_slot, "
            "trust_greater_lsn); its default counts: no_validation."
        ),
    ]


def test_a_malformed_value_that_breaks_the_real_connector_is_an_error() -> None:
    assert "'field.name.adjustment.mode'" in problem({"field.name.adjustment.mode": "zz"})


def test_unlisted_properties_are_refused_too() -> None:
    assert "'database.connection.factory.class'" in problem({"database.connection.factory.class": "com.example.Factory"})


@pytest.mark.parametrize("name", ["topic.creation.enable", "offset.flush.interval.ms", "plugin.path", "internal.key.converter"])
def test_properties_of_the_worker_are_named_so(name: str) -> None:
    assert notices({name: "1"}) == [f"Property {name} has no effect: A property of the worker, which its own file sets."]


def test_further_settings_of_the_embedded_engine_are_named_so() -> None:
    why = "A property of the embedded engine, which Kafka Connect does not use."
    assert notices({"offset.storage.jdbc.url": "x"}) == [f"Property offset.storage.jdbc.url has no effect: {why}"]


def test_properties_without_effect_are_reported() -> None:
    assert notices(
        {"max.batch.size": "100", "tabel.include.list": "a", "foo": "b", "task.class": "c", "schema.history.internal.x": "d"}
    ) == [
        "Property max.batch.size has no effect: Memory is bounded by bytes in flight, not by counts of events.",
        "Property tabel.include.list is unknown and has no effect; did you mean table.include.list?",
        "Property foo is unknown and has no effect.",
        "Property schema.history.internal.x has no effect: PostgreSQL sends the structure along with the changes, so no history is kept.",
    ]
