"""Tracebacks through a table's generated functions: they show the table and the column, and the source is released."""

from __future__ import annotations

import gc
import linecache
import traceback

import pytest

from connector.events.encoders import TableEncoder
from connector.types.codec import Column
from tests.support.stream_rig import INT4, StreamRig, catalog_table

TIMESTAMP = 1114


def encoder(name: str, *columns: Column) -> TableEncoder:
    return StreamRig().capture.encoder(catalog_table(name, *columns, primary_key=[columns[0].name]))


def sources(table: str) -> list[str]:
    return sorted(file for file in linecache.cache if file.endswith(f" {table}>"))


def test_a_traceback_names_the_table_and_shows_the_column_s_line() -> None:
    compiled = encoder("orders", Column("id", INT4), Column("at", TIMESTAMP))
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the type words it
        compiled.row([b"1", b"nonsense"])
    shown = "".join(traceback.format_exception(raised.value))
    assert 'File "<row public.orders>", line 5, in row' in shown
    assert """b',"at":', (b'null' if c1 is None else e1(c1)),""" in shown
    assert "nonsense" not in shown.split("<row public.orders>")[1].split("File")[0]


def test_a_burst_s_traceback_does_too() -> None:
    compiled = encoder("orders", Column("id", INT4), Column("at", TIMESTAMP))
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the type words it
        compiled.snapshot([[b"1"], [b"nonsense"]], nulls=False, x0=[b"}"])
    assert 'File "<snapshot public.orders>", line ' in "".join(traceback.format_exception(raised.value))


def test_the_source_goes_with_the_encoder() -> None:
    compiled = encoder("short lived", Column("id", INT4))
    assert sources("public.short lived") == [
        f"<{kind} public.short lived>" for kind in ("created", "key", "keys", "row", "row with unchanged", "snapshot")
    ]
    del compiled
    gc.collect()
    assert sources("public.short lived") == []


def test_a_changed_table_s_source_takes_the_place_of_the_old_one() -> None:
    old = encoder("changed", Column("id", INT4))
    count = len(sources("public.changed"))
    new = encoder("changed", Column("id", INT4), Column("more", INT4))
    assert len(sources("public.changed")) == count
    del old
    gc.collect()
    assert '"more"' in "".join(linecache.getlines("<row public.changed>"))
    assert new.row([b"1", b"2"]) == b'{"id":1,"more":2}'


def test_a_name_cannot_forge_a_line_of_a_traceback() -> None:
    compiled = encoder("a\nb", Column("at", TIMESTAMP))
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the type words it
        compiled.row([b"nonsense"])
    assert r"<row public.a\nb>" in "".join(traceback.format_exception(raised.value))
