from __future__ import annotations

from typing import Any

import pytest

from connector.config.connector_config import parse
from connector.config.packed import ColumnMask
from connector.emulation import DEBEZIUM_2_3_4
from connector.errors import CdcError
from connector.events.masks import Mask, mask_of
from connector.record.schema import BYTES, INT32, STRING, Schema
from connector.types.codec import Column, TypeInfo
from tests.support.each_case import each_case
from tests.support.stream_rig import INT4, TEXT, StreamRig, catalog_table, configured, relation_of
from tests.support.wal_script import UNCHANGED, WalScript

TEXT_TYPE = TypeInfo(25, "text", "pg_catalog")
UUID_TYPE = TypeInfo(2950, "uuid", "pg_catalog")
BYTEA_TYPE = TypeInfo(17, "bytea", "pg_catalog")
ENUM_TYPE = TypeInfo(90, "mood", "public", "e", labels=("sad", "ok"))
LONG = 2**31 - 1

ID = Column("id", INT4, not_null=True)
REQUIRED = Column("req", TEXT, not_null=True)
DEFAULTED = Column("def", TEXT, not_null=True, default="'deflt'::text")
OPTIONAL = Column("opt", TEXT, default="'something'::text")
TABLE = catalog_table("t", ID, REQUIRED, DEFAULTED, OPTIONAL, primary_key=["id"])


def rule(kind: str, length: int = 0, digest: str = "sha256", salt: str = "CzQMA0cB5K") -> ColumnMask:
    assert kind in ("mask", "truncate", "hash", "hash_v2")
    return ColumnMask(kind, (".*",), length, digest, salt)  # type: ignore[arg-type]


def shown(mask: Mask, value: object) -> object:
    return mask.shown(value)


# What Debezium 3.6.3 sent for these salts and texts.
@each_case(
    ("kind", "digest", "salt", "text", "length", "hashed"),
    [
        ("hash", "sha256", "CzQMA0cB5K", "test", 20, "8e68c68edbbac316dfe2"),
        ("hash", "sha256", "CzQMA0cB5K", "hello", 20, "b4d39ab0d198fb4cac8b"),
        ("hash", "sha256", "s", "abcdefgh", LONG, "173c7a66c2071c3f6fd3378239b51d971e5f28ce07d4bc9b8b0d12e263ab83e4"),
        ("hash", "sha1", "CzQ", "é\x01漢z", LONG, "ce01cf3c7a2b594150403ac567a76f0ce35776dc"),
        # Longer than 65,535 bytes Java writes the length in eight bytes.
        ("hash", "sha1", "CzQ", "é漢" * 30_000, LONG, "44ce31b316c5ac03f7438e506da7d263b7b613eb"),
        ("hash", "sha256", "CzQMA0cB5K", "é漢字😀xyz", LONG, "80c44f10b86bffb753793dbb27c703b71306cb400fd972567834e2c9ef60aa41"),
        ("hash_v2", "sha256", "s", "abcdefgh", LONG, "9ae4e8894252fa15afa2e6b1d3281bb81095ad95ad226ae3d934e12767f5f4bf"),
        ("hash_v2", "md5", "abc", "", LONG, "900150983cd24fb0d6963f7d28e17f72"),
        ("hash_v2", "md5", "abc", "é漢字😀xyz", LONG, "037cc542aa7aac43dc96a20449d5bd2e"),
    ],
)
def test_hashes_are_those_of_the_reference(kind: str, digest: str, salt: str, text: str, length: int, hashed: str) -> None:
    mask = mask_of(rule(kind, digest=digest, salt=salt), TEXT_TYPE, length, STRING)
    assert shown(mask, text) == hashed
    assert mask.parameter == ("masked", "true")


@each_case("base", [TEXT_TYPE, ENUM_TYPE, TypeInfo(19, "name", "pg_catalog"), TypeInfo(18, "char", "pg_catalog")])
@each_case("kind", ["mask", "hash", "hash_v2"])
def test_character_types_and_enums_are_masked(base: TypeInfo, kind: str) -> None:
    assert not mask_of(rule(kind, 3), base, LONG, STRING).idle


@each_case("base", [UUID_TYPE, BYTEA_TYPE, TypeInfo(91, "text", "public"), TypeInfo(92, "citext", "public")])
@each_case("kind", ["mask", "hash", "hash_v2"])
def test_other_types_are_marked_but_not_masked(base: TypeInfo, kind: str) -> None:
    mask = mask_of(rule(kind, 3), base, LONG, STRING)
    assert mask.idle
    assert mask.parameter == ("masked", "true")


@each_case(
    ("text", "cut"),
    [
        ("abc", "abc"),
        ("abcd", "abc"),
        ("漢字漢字", "漢字漢"),
        ("é\x01漢z", "é\x01漢"),
        ("a😀b", "a😀"),
        ("ab😀", "ab"),
        ("😀😀", "😀"),
        ("", ""),
    ],
)
def test_cut_counts_utf16_units_and_keeps_characters_whole(text: str, cut: str) -> None:
    assert shown(mask_of(rule("truncate", 3), TEXT_TYPE, LONG, STRING), text) == cut


@pytest.mark.parametrize("length", [199_999, 200_000, 200_001, 400_000])
def test_a_long_text_of_two_unit_characters_is_cut_in_linear_time(length: int) -> None:
    assert shown(mask_of(rule("truncate", length), TEXT_TYPE, None, STRING), "😀" * 150_000) == "😀" * min(length // 2, 150_000)


def test_cut_of_bytes_came_with_version_3() -> None:
    assert shown(mask_of(rule("truncate", 2), BYTEA_TYPE, LONG, BYTES), b"\x00\xff\x11") == b"\x00\xff"
    assert mask_of(rule("truncate", 2), BYTEA_TYPE, LONG, BYTES, DEBEZIUM_2_3_4).idle


def test_cut_leaves_other_values_alone_but_marks_their_schema() -> None:
    for schema in (INT32, Schema("bytes", name="io.debezium.data.Bits", version=1), Schema("array", items=STRING)):
        mask = mask_of(rule("truncate", 2), UUID_TYPE, 10, schema)
        assert mask.idle
        assert mask.parameter == ("truncateLength", "2")


def test_cut_does_nothing_where_nothing_can_be_longer() -> None:
    assert mask_of(rule("truncate", 4), TEXT_TYPE, 4, STRING) == Mask()
    assert not mask_of(rule("truncate", 4), TEXT_TYPE, None, STRING).idle


def events(**properties: str) -> list[dict[str, Any]]:
    """The payloads of an insert, of an update with an unchanged value, and of a delete with only the key."""
    config, _ = parse({**configured().raw, **properties})
    rig, wal = StreamRig(TABLE, config=config), WalScript()
    relation = relation_of(TABLE)
    wal.begin(1)
    wal.relation(relation)
    wal.insert(relation, "1", "abcdef", "x", None)
    wal.update(relation, "1", UNCHANGED, "x", None)
    wal.delete(relation, key=["1", None, None, None])
    return [sent.payload for sent in rig.feed(wal.take()) if sent.value is not None]


def test_asterisks_stand_for_nulls_and_unchanged_values_too() -> None:
    created, updated, deleted = events(**{"column.mask.with.3.chars": r"public\.t\.(req|def|opt)"})
    masked = {"id": 1, "req": "***", "def": "***", "opt": "***"}
    assert created["after"] == updated["after"] == deleted["before"] == masked


def test_hashes_keep_nulls_but_change_their_substitutes() -> None:
    created, updated, deleted = events(**{"column.mask.hash.SHA-1.with.salt.CzQ": r"public\.t\..*"})
    # An optional null is the converter's business, which writes the schema's default.
    assert (created["after"]["id"], created["after"]["opt"]) == (1, "something")
    assert deleted["before"]["def"] == "5103424170b8686cc3e9913cef98bb85a70c780a"
    [before, after] = [event["req"] for event in (created["after"], updated["after"])]
    assert len({before, after, deleted["before"]["req"]}) == 3
    assert all(len(text) == 40 for text in (before, after, deleted["before"]["req"]))


def test_cut_placeholder() -> None:
    created, updated, deleted = events(**{"column.truncate.to.2.chars": r"public\.t\..*"})
    assert (created["after"]["req"], updated["after"]["req"], deleted["before"]) == (
        "ab",
        "__",
        {"id": 1, "req": "", "def": "de", "opt": "something"},
    )


def test_keys_are_not_masked() -> None:
    table = catalog_table("k", Column("id", TEXT, not_null=True), primary_key=["id"])
    config, _ = parse({**configured().raw, "column.mask.with.1.chars": "public.k.id"})
    rig, wal = StreamRig(table, config=config), WalScript()
    relation = relation_of(table)
    wal.begin(1)
    wal.relation(relation)
    wal.insert(relation, "secret")
    [sent] = rig.feed(wal.take())
    assert (sent.key_json, sent.payload["after"]) == ({"id": "secret"}, {"id": "*"})


def test_digest_without_a_length_is_refused() -> None:
    with pytest.raises(CdcError, match="no digest algorithm SHAKE-128"):
        parse({**configured().raw, "column.mask.hash.v2.SHAKE-128.with.salt.x": "public.k.id"})
