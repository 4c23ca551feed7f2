"""Cases of HeaderToValue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from connector.configdef.key import SINCE_3, VERSIONS
from tests.support.format_case import Case, Json, optional, required, struct

HEADERS: Final = "io.debezium.transforms.HeaderToValue"

ROW: Final = {**struct({"id": required("int32")}, "p.public.t.Value"), "optional": True}
SOURCE: Final = struct({"table": required("string")}, "Source", version=2, doc="where", parameters={"a": "b"})
CARRIED: Final[list[Any]] = [
    ["h1", [required("string"), "first"]],
    ["h2", [required("int32"), 3]],
    ["n", None],
    ["s", [struct({"x": required("int32")}, "S"), {"x": 1}]],
    ["o", [optional("string"), None]],
]
TWICE: Final = [*CARRIED, ["h1", [required("string"), "again"]], ["x", [required("string"), "1"]], ["x", [required("string"), "2"]]]


def event(**members: Any) -> Json:
    fields = {
        "before": ROW,
        "after": ROW,
        "source": SOURCE,
        "op": required("string"),
        "ts_ms": optional("int64"),
        "note": optional("string"),
    }
    value = {"before": None, "after": {"id": 1}, "source": {"table": "t"}, "op": "c", "ts_ms": 5, "note": None}
    schema = {**struct(fields, "p.public.t.Envelope", version=1, doc="an event"), "optional": True}
    return {
        "topic": "p.public.t",
        "key": [required("string"), "k"],
        "value": [schema, {**value, **members}],
        "timestamp": 8,
        "headers": CARRIED,
    }


def _case(headers: str | None, fields: str | None, operation: str | None = "copy", record: Json | None = None) -> Case:
    """One case; nested fields and those that are there already are treated by chance in 2.3."""
    reported = {"headers": headers, "fields": fields, "operation": operation}
    plain = fields is None or all(name.strip() not in NAMED and "." not in name for name in fields.split(","))
    options = {name: value for name, value in reported.items() if value is not None}
    return Case(HEADERS, options, event() if record is None else record, VERSIONS if plain and headers != "h1,h1" else SINCE_3)


NAMED: Final = ("after", "source", "op", "ts_ms", "note")
PAIRS: Final = """
h1 f
h1,h2 a,b
h2,h1 a,b
h2,h1 b,a
h1,h2,o,zz,s a,b,c,d,e
h1 after.f
h1 after.x.f
h1 after.x.y.f
h1 source.f
h1 before.f
h1 after.id
h2 after.id
h2 ts_ms
h1 op
h1 note
o note
o op
h1 after
s after
s source
h1 op.x
h1 source.table.x
h1 nix.f
h1 nix.a.b
h1,h2 nix.f,nix.g
h1,h2 nix.f,nix.a.b
h1,h2 f,after.y
h1,h2 nix.f,after.y
h1,h2 after.x.f,after.y
h1,h2 after.y,after.x.f
h1,h2 after.f,after.f
h1,h2 f,f
h1,h2,s after.y,source.z,w
h1,h1 f,g
n f
s e
o e
zz e
zz after.e
zz nix.e
h1 after.
h1 .f
h1 a..b
h1,, f,,
h1,,h2 f,,g
""".strip().splitlines()


def cases() -> Iterator[Case]:
    for headers, fields, operation in (
        (None, None, None),
        ("h1", None, None),
        ("h1", "f", None),
        ("h1", "f", "x"),
        ("h1", "f", ""),
        ("h1", "f", "COPY"),
        ("h1", "f", " move "),
        ("h1,h2", "f", "copy"),
        ("", "", "copy"),
        ("h1", "", "copy"),
        (" h1 , h2 ", " a , b ", "Move"),
    ):
        yield _case(headers, fields, operation)
    for pair in PAIRS:
        headers, _, fields = pair.partition(" ")
        for operation in ("copy", "move"):
            yield _case(headers, fields, operation)
    for headers in ("h1", "h2", "x"):
        yield _case(headers, "f", "move", {**event(), "headers": TWICE})
    yield _case("h1", "before.f", record=event(before={"id": 7}))
    for value in ([ROW, {"id": 1}], [required("string"), "x"], [None, {"id": 1}], None, [ROW, None]):
        for carried in (CARRIED, []):
            record = {"topic": "t", "headers": carried} | ({} if value is None else {"value": value})
            yield _case("h1", "f", "move", record)
    inner = {**struct({"v": optional("int32", default=7)}, "n"), "optional": True}
    row = {**struct({"id": required("int32"), "d": optional("string", default="x"), "n": inner}, "p.public.t.Value"), "optional": True}
    envelope = struct({"after": row, "note": optional("string", default="none")}, "p.public.t.Envelope")
    full = {"after": {"id": 1, "d": None, "n": {"v": None}}, "note": None}
    for fields in ("f", "after.f", "after.n.f", "nix.f"):
        yield _case("h1", fields, record={"topic": "t", "headers": CARRIED, "value": [envelope, full]})
