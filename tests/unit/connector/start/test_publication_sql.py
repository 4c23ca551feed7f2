from __future__ import annotations

import pytest

from connector.catalog.selection import TableName
from connector.errors import CdcError, ErrorKind
from connector.start.publication_sql import PublicationState, plan_publication, publish_list, why_unchanged
from tests.support.each_case import each_case

A, B = ("inv", "a"), ('in"v', "B b")
BOTH = '"in""v"."B b", "inv"."a"'
LITERAL = "'insert, update'"
ALL = PublicationState(all_tables=True, tables=frozenset(), published=frozenset())


def listed(*tables: TableName) -> PublicationState:
    return PublicationState(all_tables=False, tables=frozenset(tables), published=frozenset(tables))


@pytest.mark.parametrize(
    ("mode", "via_root", "publish", "expected"),
    [
        ("all_tables", False, None, 'CREATE PUBLICATION "p" FOR ALL TABLES'),
        ("all_tables", True, None, 'CREATE PUBLICATION "p" FOR ALL TABLES WITH (publish_via_partition_root = true)'),
        ("no_tables", False, None, 'CREATE PUBLICATION "p"'),
        ("no_tables", False, "insert", """CREATE PUBLICATION "p" WITH (publish = 'insert')"""),
        ("filtered", False, None, 'CREATE PUBLICATION "p" FOR TABLE "in""v"."B b", "inv"."a"'),
        (
            "filtered",
            True,
            "insert, update",
            f'CREATE PUBLICATION "p" FOR TABLE {BOTH} WITH (publish = {LITERAL}, publish_via_partition_root = true)',
        ),
    ],
)
def test_a_missing_publication_is_made(mode: str, via_root: bool, publish: str | None, expected: str) -> None:
    assert plan_publication("p", mode, None, [A, B], via_root=via_root, publish=publish) == expected


def test_names_are_quoted() -> None:
    assert plan_publication('my "pub"', "no_tables", None, []) == 'CREATE PUBLICATION "my ""pub"""'


@pytest.mark.parametrize(("captured", "shown"), [([B, A], '"in""v"."B b", "inv"."a"'), ([], "…")])
def test_disabled_mode_says_what_a_privileged_role_may_run(captured: list[TableName], shown: str) -> None:
    with pytest.raises(CdcError) as reported:
        plan_publication("p", "disabled", None, captured)
    assert reported.value.kind is ErrorKind.SOURCE_OBJECT_MISSING
    assert reported.value.message == "Publication autocreation is disabled, please create one and restart the connector"
    assert reported.value.remedy == f'Run CREATE PUBLICATION "p" FOR TABLE {shown};'


@each_case("state", [ALL, listed(), listed(A), listed(A, B)], ids=["all", "empty", "some", "same"])
@each_case("mode", ["all_tables", "disabled", "no_tables"])
def test_an_existing_publication_is_left_alone_unless_filtered(mode: str, state: PublicationState) -> None:
    assert plan_publication("p", mode, state, [A, B]) is None
    assert plan_publication("p", mode, state, []) is None


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (listed(A, B), None),
        (listed(A), 'ALTER PUBLICATION "p" SET TABLE "in""v"."B b", "inv"."a"'),
        (listed(), 'ALTER PUBLICATION "p" SET TABLE "in""v"."B b", "inv"."a"'),
        (listed(A, B, ("inv", "more")), 'ALTER PUBLICATION "p" SET TABLE "in""v"."B b", "inv"."a"'),
    ],
    ids=["same", "fewer", "empty", "more"],
)
def test_filtered_mode_brings_the_tables_up_to_date(state: PublicationState, expected: str | None) -> None:
    assert plan_publication("p", "filtered", state, [A, B], publish="insert", via_root=True) == expected
    assert plan_publication("p", "filtered", state, [B, A]) == expected


def test_filtered_mode_leaves_a_publication_that_lists_or_publishes_the_tables() -> None:
    # Two partitions are published under their own names, because their root is listed.
    by_root = PublicationState(False, frozenset({("inv", "root")}), frozenset({A, B}), frozenset({"inv"}))
    assert plan_publication("p", "filtered", by_root, [A, B]) is None
    assert plan_publication("p", "filtered", by_root, [("inv", "root")]) is None
    assert plan_publication("p", "filtered", by_root, [A]) == 'ALTER PUBLICATION "p" SET TABLE "inv"."a"'


def test_filtered_mode_cannot_narrow_all_tables() -> None:
    with pytest.raises(CdcError) as reported:
        plan_publication("p", "filtered", ALL, [A])
    assert reported.value.kind is ErrorKind.SOURCE_SETTING
    assert "Publication p" in reported.value.message
    assert 'DROP PUBLICATION "p";' in reported.value.remedy


def test_filtered_mode_needs_a_table_for_a_new_publication() -> None:
    with pytest.raises(CdcError) as reported:
        plan_publication("p", "filtered", None, [])
    assert reported.value.kind is ErrorKind.CONFIG_INVALID
    assert "No table filters found for filtered publication p" in reported.value.message
    assert "table.include.list" in reported.value.remedy


@pytest.mark.parametrize("standby", [False, True])
def test_filtered_mode_without_tables_leaves_a_publication_as_it_is(standby: bool) -> None:
    assert plan_publication("p", "filtered", listed(A), [], standby=standby) is None
    assert "No table filters found" in (why_unchanged("p", listed(A), [], standby=standby) or "")
    with pytest.raises(CdcError, match="is for all tables"):
        plan_publication("p", "filtered", ALL, [], standby=standby)


@pytest.mark.parametrize("mode", ["filtered", "all_tables", "no_tables"])
def test_a_standby_cannot_create_a_publication(mode: str) -> None:
    with pytest.raises(CdcError) as reported:
        plan_publication("p", mode, None, [A], standby=True)
    assert reported.value.kind is ErrorKind.SOURCE_SETTING
    assert 'Run CREATE PUBLICATION "p"' in reported.value.remedy
    assert reported.value.remedy.endswith("; on the primary")


@pytest.mark.parametrize(
    ("state", "lacking"),
    [(listed(A, B), ""), (listed(A, B, ("inv", "more")), ""), (listed(A), '"in""v"."B b"'), (listed(), '"in""v"."B b", "inv"."a"')],
)
def test_a_standby_does_not_change_a_publication(state: PublicationState, lacking: str) -> None:
    assert plan_publication("p", "filtered", state, [A, B], standby=True) is None
    warning = why_unchanged("p", state, [A, B], standby=True)
    assert (f'ALTER PUBLICATION "p" ADD TABLE {lacking}; on the primary' in warning) if warning else not lacking
    assert why_unchanged("p", state, [A, B], standby=False) is None


@pytest.mark.parametrize(
    ("skipped", "expected"),
    [
        (None, None),
        ((), "insert, update, delete, truncate"),
        (("t",), "insert, update, delete"),
        (("u", "d"), "insert, truncate"),
        (("none",), "insert, update, delete, truncate"),
        (("c", "u", "d", "t"), ""),
    ],
)
def test_publish_list(skipped: tuple[str, ...] | None, expected: str | None) -> None:
    assert publish_list(skipped) == expected
