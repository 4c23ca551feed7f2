"""box, circle, line, lseg, path and polygon. The recording ``later-geometric`` has what the real connector sends."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_6_3, DEBEZIUM_3_7_0, Emulation
from connector.record.json_converter import value_json
from connector.types.codec import Codec, Column, TypeInfo, TypeSettings
from connector.types.registry import resolve
from connector.types.spatial.geometric import BOX, CIRCLE, LINE, LSEG, PATH, POLYGON
from tests.support.each_case import each_case

NAMES = ("box", "circle", "line", "lseg", "path", "polygon")
NUMBERS = st.floats().map(lambda value: repr(value).replace("inf", "Infinity").replace("nan", "NaN"))
POINTS = st.tuples(NUMBERS, NUMBERS).map(lambda point: f"({point[0]},{point[1]})")
LISTS = st.lists(POINTS, min_size=1, max_size=5).map(",".join)
TEXTS = {
    "box": st.tuples(POINTS, POINTS).map(",".join),
    "circle": st.tuples(POINTS, NUMBERS).map(lambda parts: f"<{parts[0]},{parts[1]}>"),
    "line": st.tuples(NUMBERS, NUMBERS, NUMBERS).map(lambda parts: "{" + ",".join(parts) + "}"),
    "lseg": st.tuples(POINTS, POINTS).map(lambda points: f"[{points[0]},{points[1]}]"),
    "path": st.one_of(LISTS.map(lambda points: f"[{points}]"), LISTS.map(lambda points: f"({points})")),
    "polygon": LISTS.map(lambda points: f"({points})"),
}
CODECS = {"box": BOX, "circle": CIRCLE, "line": LINE, "lseg": LSEG, "path": PATH, "polygon": POLYGON}


def resolved(name: str, emulation: Emulation, *, unknown: bool = False, array: bool = False) -> Codec | None:
    types = {1: TypeInfo(1, name, "pg_catalog", category="G"), 2: TypeInfo(2, f"_{name}", "pg_catalog", category="A", element=1)}
    return resolve(Column("c", 2 if array else 1), types, TypeSettings(emulation=emulation, include_unknown_datatypes=unknown))


def points(value: object) -> list[tuple[float, float]]:
    """The points of well-known binary: a line, or a polygon of one ring."""
    assert isinstance(value, dict)
    wkb = value["wkb"]
    assert isinstance(wkb, bytes)
    order, kind = struct.unpack_from("<BI", wkb)
    assert order == 1
    body = wkb[5:] if kind == 2 else wkb[9:]
    assert kind == 2 or wkb[5:9] == b"\1\0\0\0"
    (number,) = struct.unpack_from("<I", body)
    found = struct.unpack(f"<{2 * number}d", body[4:])
    return list(zip(found[::2], found[1::2], strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_only_later_versions_have_a_mapping(name: str) -> None:
    assert resolved(name, DEBEZIUM_2_3_4) is None
    assert resolved(name, DEBEZIUM_3_6_3) is None
    assert resolved(name, DEBEZIUM_3_7_0) == CODECS[name]
    former = resolved(name, DEBEZIUM_3_6_3, unknown=True)
    assert former is not None
    assert former.schema.type == "bytes"


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_both_ways_to_json_agree(name: str, data: st.DataObject) -> None:
    text = data.draw(TEXTS[name]).encode()
    assert value_json(CODECS[name].schema, CODECS[name].decode(text)) == CODECS[name].encode(text)


def test_a_box_is_a_ring_from_its_first_corner() -> None:
    assert points(BOX.decode(b"(3,4),(1,2)")) == [(3, 4), (3, 2), (1, 2), (1, 4), (3, 4)]


def test_lines_have_the_given_points() -> None:
    assert points(LSEG.decode(b"[(1,2),(3,4)]")) == [(1, 2), (3, 4)]
    for text, closed in ((b"((1,2),(3,4),(5,6))", "true"), (b"[(1,2),(3,4),(5,6)]", "false")):
        value = PATH.decode(text)
        assert points(value) == [(1, 2), (3, 4), (5, 6)]
        assert isinstance(value, dict)
        assert value["extensions"] == {"type": "path", "closed": closed}


@pytest.mark.parametrize(
    ("text", "number"),
    [(b"((0,0),(1,1),(2,0))", 4), (b"((0,0),(1,1),(0,0))", 3), (b"((1,1))", 1), (b"((0,0),(-0,0))", 2), (b"((NaN,1))", 2)],
)
def test_a_polygon_is_closed_once(text: bytes, number: int) -> None:
    ring = points(POLYGON.decode(text))
    assert len(ring) == number
    assert struct.pack("<2d", *ring[0]) == struct.pack("<2d", *ring[-1]) or text == b"((0,0),(-0,0))"


def test_arrays_have_their_elements() -> None:
    boxes = resolved("box", DEBEZIUM_3_7_0, array=True)
    lines = resolved("line", DEBEZIUM_3_7_0, array=True)
    assert boxes is not None
    assert lines is not None
    found = boxes.decode(b"{(3,4),(1,2);NULL;(1,1),(0,0)}")
    assert isinstance(found, list)
    assert [None if one is None else points(one)[0] for one in found] == [(3, 4), None, (1, 1)]
    assert lines.encode(b'{"{1,2,3}"}') == b'[{"a":1.0,"b":2.0,"c":3.0}]'


@each_case("name", NAMES)
@each_case("text", [b"", b"(", b"(1,2)", b"()", b"[(1,2)", b"((1,2,3))", b"{1,2}", b"<(1,2)>", b"((a,1),(2,3))", b"[1,2],[3,4]"])
def test_other_texts_are_refused(name: str, text: bytes) -> None:
    for convert in (CODECS[name].decode, CODECS[name].encode):
        with pytest.raises(ValueError):  # noqa: PT011 - that it is a ValueError is the promise
            convert(text)
