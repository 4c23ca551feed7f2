"""Cases of the transforms of geometries and vectors."""

from __future__ import annotations

import base64
import struct as layout
from collections.abc import Iterator
from typing import Any, Final

from connector.configdef.key import SINCE_3
from tests.support.format_case import Case, Json, optional, required, struct

FORMAT: Final = "io.debezium.transforms.GeometryFormatTransformer"
SWAP: Final = "io.debezium.transforms.SwapGeometryCoordinates"
VECTOR: Final = "io.debezium.transforms.VectorToJsonConverter"
DATA: Final = "io.debezium.data."

GEOMETRY: Final = {
    **struct({"wkb": required("bytes"), "srid": optional("int32")}, DATA + "geometry.Geometry", version=1, doc="Geometry"),
    "optional": True,
}
GEOGRAPHY: Final = {**GEOMETRY, "name": DATA + "geometry.Geography"}
POINT: Final = {
    **struct(
        {"x": required("double"), "y": required("double"), "wkb": optional("bytes"), "srid": optional("int32")},
        DATA + "geometry.Point",
        version=1,
    ),
    "optional": True,
}


def _doubles(order: str, *numbers: float) -> str:
    return layout.pack(f"{order}{len(numbers)}d", *numbers).hex()


TWO: Final = _doubles("<", 1, 2)
FOUR: Final = _doubles("<", 1, 2, 3, 4)
SRID: Final = "e6100000"
SHAPES: Final = {
    "point": "0101000000" + TWO,
    "big": "0000000001" + _doubles(">", 1, 2),
    "srid": "0101000020" + SRID + TWO,
    "big srid": "0020000001000010e6" + _doubles(">", 1, 2),
    "z": "01010000a0" + SRID + _doubles("<", 1, 2, 3),
    "m": "0101000060" + SRID + _doubles("<", 1, 2, 3),
    "zm": "01010000e0" + SRID + FOUR,
    "plain z": "0101000080" + _doubles("<", 1, 2, 3),
    "iso z": "01e9030000" + _doubles("<", 1, 2, 3),
    "line": "0102000020" + SRID + "02000000" + FOUR,
    "polygon": "0103000020" + SRID + "01000000" + "04000000" + _doubles("<", 0, 1, 2, 3, 4, 5, 0, 1),
    "points": "0104000020" + SRID + "02000000" + ("0101000000" + TWO) * 2,
    "lines": "0105000000" + "01000000" + "0102000000" + "02000000" + FOUR,
    "polygons": "0106000000" + "01000000" + "0103000000" + "01000000" + "02000000" + FOUR,
    "collection": "0107000020" + SRID + "02000000" + "0101000000" + TWO + "0102000000" + "02000000" + FOUR,
    "nothing": "010700000000000000",
    "nan": "0101000000" + _doubles("<", float("nan"), float("nan")),
    "curve": "0108000000" + "02000000" + FOUR,
    "short": "01",
    "unknown": "0163000000",
    "ended": "0102000000ff000000",
    "more": "0101000000" + TWO + "ff",
    "empty": "",
}


def _wkb(shape: str, srid: int | None = None) -> Json:
    return {"wkb": base64.b64encode(bytes.fromhex(SHAPES[shape])).decode(), "srid": srid}


def _event(row: Json, values: Json, name: str = "p.public.t.Envelope", *, flat: bool = False) -> Json:
    shape = {**struct({"id": required("int32"), **row}, "p.public.t.Value"), "optional": True}
    reported = {"id": 1, **values}
    if flat:
        return {"topic": "t", "value": [shape, reported]}
    fields = {"before": shape, "after": shape, "source": struct({"table": required("string")}, "Source"), "op": required("string")}
    value = {"before": None, "after": reported, "source": {"table": "t"}, "op": "c"}
    header = [["h", [required("string"), "v"]]]
    return {"topic": "t", "key": [required("string"), "k"], "value": [struct(fields, name, version=1), value], "headers": header}


def _others() -> list[Json]:
    return [{"topic": "x", "value": [required("string"), "a"]}, {"topic": "x"}, {"topic": "x", "value": [None, {"a": 1}]}]


def _case(transform: str, record: Json, **options: str) -> Case:
    return Case(transform, options, record, SINCE_3)


def geometries() -> Iterator[Case]:
    for shape in SHAPES:
        for srid in (None, 4326, 3857):
            for form in ("wkb", "ewkb"):
                yield _case(FORMAT, _event({"g": GEOMETRY}, {"g": _wkb(shape, srid)}), format=form)
        yield _case(SWAP, _event({"g": GEOMETRY}, {"g": _wkb(shape, 4326)}))
    for srid in (None, 0, 3857, 4258, 4269, 4326, 25832):
        yield _case(SWAP, _event({"g": GEOMETRY}, {"g": _wkb("line", srid)}))
    nested = {**struct({"g": GEOMETRY}, "n"), "optional": True}
    row = {"g": GEOMETRY, "y": GEOGRAPHY, "p": POINT, "a": optional("array", items=GEOMETRY), "n": nested}
    reported = _wkb("srid", 4326)
    values: Json = {"g": reported, "y": reported, "p": {"x": 1.0, "y": 2.0, **reported}, "a": [reported, None], "n": {"g": reported}}
    for record in (
        _event(row, values),
        _event(row, values, flat=True),
        _event(row, values, "x"),
        _event(row, dict.fromkeys(values)),
        *_others(),
    ):
        for transform in (FORMAT, SWAP):
            yield _case(transform, record)
    for form in ("WKB", "EWKB", " wkb ", "x", ""):
        yield _case(FORMAT, _event({"g": GEOMETRY}, {"g": _wkb("point", 4326)}), format=form)
    for one, other in (("srid", "point"), ("point", "srid"), ("srid", "srid"), ("point", "point")):
        for srid in (None, 4326):
            yield _case(FORMAT, _event({"g": GEOMETRY, "h": GEOMETRY}, {"g": _wkb(one, 4326), "h": _wkb(other, srid)}))
    for srids in ("4326", "3857", "4326,3857", " 4326 , 1", "", "x", "1,,2"):
        for srid in (4326, 3857, None):
            yield _case(SWAP, _event({"g": GEOMETRY}, {"g": _wkb("srid", srid)}), srids=srids)


def defaults() -> Iterator[Case]:
    """Nulls of fields that have a default, beside a geometry or vector and without one."""
    inner = {**struct({"v": optional("int32", default=7)}, "n"), "optional": True}
    row = {
        "d": optional("string", default="x"),
        "n": inner,
        "a": optional("array", items=inner),
        "m": optional("map", keys=required("string"), values=inner),
    }
    values: Json = {"d": None, "n": {"v": None}, "a": [{"v": None}, None], "m": {"k": {"v": None}}}
    for transform in (FORMAT, SWAP, VECTOR):
        yield _case(transform, _event(row, values))
        yield _case(transform, _event(row, values, flat=True))
        yield _case(transform, _event({**row, "g": GEOMETRY, "f": DOUBLES}, {**values, "g": _wkb("srid", 4326), "f": [1.0]}))
        yield _case(transform, _event({"f": {**DOUBLES, "default": [1.0]}, "g": GEOMETRY}, {"f": None, "g": None}))


FLOATS: Final = optional("array", DATA + "FloatVector", items=required("float"))
DOUBLES: Final = optional("array", DATA + "DoubleVector", items=required("double"))
SPARSE: Final = {
    **struct(
        {"dimensions": required("int16"), "vector": required("map", keys=required("int16"), values=required("double"))},
        DATA + "SparseDoubleVector",
        version=1,
        doc="Sparse double vector",
    ),
    "optional": True,
}


def vectors() -> Iterator[Case]:
    nested = {**struct({"v": DOUBLES}, doc="n", parameters={"a": "b"}), "optional": True}
    propagated = {**DOUBLES, "parameters": {"__debezium.source.column.type": "VECTOR"}, "doc": "v"}
    row = {
        "f": {**FLOATS, "optional": False},
        "d": DOUBLES,
        "s": SPARSE,
        "n": nested,
        "p": propagated,
        "a": optional("array", items=DOUBLES),
    }
    full: Json = {
        "f": [1.0, 2.5, 1e10],
        "d": [101.0, 0.1, 1e-7, 123456789.0],
        "s": {"dimensions": 25, "vector": [[1, 25.0], [5, 0.5]]},
        "n": {"v": [1.0]},
        "p": [2.0],
        "a": [[1.0]],
    }
    nothing: Json = {"f": [], "d": [], "s": {"dimensions": 0, "vector": []}, "n": None, "p": None, "a": None}
    for values in (full, nothing, {**full, "d": None, "s": None, "n": {"v": None}}):
        yield _case(VECTOR, _event(row, values))
    yield _case(VECTOR, _event(row, full, flat=True))
    yield _case(VECTOR, _event(row, full, "x"))
    yield _case(VECTOR, _event({"t": optional("string")}, {"t": "x"}))
    for record in _others():
        yield _case(VECTOR, record)


def cases() -> Iterator[Any]:
    yield from geometries()
    yield from vectors()
    yield from defaults()
