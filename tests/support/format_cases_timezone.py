"""Cases of TimezoneConverter. The offset of a time of day is today's in a place, so those cases have fixed offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from connector.configdef.key import SINCE_3
from tests.support.format_case import Case, Json, optional, required, struct

CONVERTER: Final = "io.debezium.transforms.TimezoneConverter"
ZONE: Final = "converted.timezone"
TIME: Final = "io.debezium.time."
CONNECT: Final = "org.apache.kafka.connect.data."
BERLIN: Final = "Europe/Berlin"
AT: Final = 1529507596945

KINDS: Final[dict[str, tuple[Json, Any]]] = {
    "ts": (optional("int64", TIME + "Timestamp"), AT),
    "mts": (optional("int64", TIME + "MicroTimestamp"), AT * 1000 + 123),
    "nts": (optional("int64", TIME + "NanoTimestamp"), AT * 1000000 + 123456),
    "zts": (optional("string", TIME + "ZonedTimestamp"), "2018-06-20T15:13:16.945104Z"),
    "zt": (optional("string", TIME + "ZonedTime"), "15:13:16.945104Z"),
    "d": (optional("int32", TIME + "Date"), 17702),
    "t": (optional("int32", TIME + "Time"), 54796945),
    "mt": (optional("int64", TIME + "MicroTime"), 54796945104),
    "nt": (optional("int64", TIME + "NanoTime"), 54796945104000),
    "cd": (optional("int32", CONNECT + "Date"), 17702),
    "ct": (optional("int32", CONNECT + "Time"), 54796945),
    "cts": (optional("int64", CONNECT + "Timestamp"), AT),
    "iso": (optional("string", TIME + "IsoTimestamp"), "2018-06-20T15:13:16.945104Z"),
    "isod": (optional("string", TIME + "IsoDate"), "2018-06-20Z"),
    "isot": (optional("string", TIME + "IsoTime"), "15:13:16.945104Z"),
    "yr": (optional("int32", TIME + "Year"), 2018),
    "md": (optional("int64", TIME + "MicroDuration"), 5),
    "iv": (optional("string", TIME + "Interval"), "P1D"),
    "i": (optional("int64"), AT),
    "s": (optional("string"), "2018-06-20T15:13:16.945104Z"),
    "a": (optional("array", items=optional("int64", TIME + "Timestamp")), [AT]),
    "n": ({**struct({"ts": optional("int64", TIME + "Timestamp")}, "n"), "optional": True}, {"ts": AT}),
}
SOURCE: Final = {
    "ts_ms": required("int64"),
    "table": required("string"),
    "lsn": optional("int64"),
    "ts_us": optional("int64"),
    "ts_ns": optional("int64"),
    "zts": optional("string", TIME + "ZonedTimestamp"),
}


def event(
    values: Json | None = None, name: str = "p.public.t.Envelope", *, source: bool = True, before: bool = False, flat: bool = False
) -> Json:
    """An event of the columns in ``values``, or of one of each type."""
    reported = {column: value for column, (_, value) in KINDS.items()} if values is None else values
    row = {**struct({column: KINDS[column][0] for column in reported}, "p.public.t.Value"), "optional": True}
    if flat:
        return {"topic": "p.public.t", "value": [row, reported]}
    fields = {"before": row, "after": row}
    value = {"before": reported if before else None, "after": reported, "op": "c", "ts_ms": AT}
    if source:
        fields["source"] = struct(SOURCE, "Source")
        times = {"ts_us": AT * 1000 + 7, "ts_ns": AT * 1000000 + 7, "zts": "2018-06-20T15:13:16Z"}
        value["source"] = {"ts_ms": AT, "table": "t", "lsn": AT, **times}
    schema = struct({**fields, "op": required("string"), "ts_ms": optional("int64", TIME + "Timestamp")}, name)
    key = struct({"ts": optional("int64", TIME + "Timestamp")})
    return {"topic": "p.public.t", "key": [key, {"ts": AT}], "value": [schema, value]}


def _case(zone: str | None, record: Json | None = None, **lists: str) -> Case:
    options = {} if zone is None else {ZONE: zone}
    return Case(CONVERTER, options | {f"{name}.list": rules for name, rules in lists.items()}, record or event(), SINCE_3)


PLAIN: Final = {name: KINDS[name][1] for name in KINDS if name != "zt"}
LOCALS: Final = (
    1521945000000,  # in the gap of Berlin's spring
    1521943199000,
    1521946800000,
    1540693800000,  # twice in Berlin's autumn
    1540690200000,
    1540697400000,
    0,
    -1,
    -2524521600000,
    2540246400000,
    253402300800000,
    -62135596800001,
)
TEXTS: Final = """
2018-06-20T15:13:16Z
2018-06-20T15:13Z
2018-06-20T15:13:16.100Z
2018-06-20T15:13:16.123456789Z
2018-06-20T15:13:16+02:00
2018-06-20T15:13:16+05:30:15
2018-10-28T04:30:00+05:00
2018-03-25T01:00:00Z
2018-03-25T00:59:59Z
2018-03-25T02:30:00Z
2018-10-28T00:30:00Z
2018-10-28T01:30:00Z
2018-10-28T02:30:00Z
2018-10-28T03:30:00Z
-0044-03-15T12:00:00Z
0000-01-01T00:00:00Z
0001-01-01T00:00:00Z
1890-01-01T00:00:00Z
9999-12-31T23:59:59Z
+10000-01-01T00:00:00Z
+294247-01-10T04:00:25.2Z
-290308-12-21T19:59:27.6Z
2050-07-01T00:00:00Z
2400-02-29T00:00:00Z
2018-06-20t15:13:16z
2018-02-29T00:00:00Z
2018-13-01T00:00:00Z
2018-06-20T24:00:00Z
2018-06-20T15:60:00Z
2018-06-20 15:13:16Z
2018-06-20T15:13:16
2018-06-20T15:13:16+19:00
12018-06-20T15:13:16Z
+2018-06-20T15:13:16Z
infinity
""".splitlines()
RULES: Final = """
source:t
source:u
source:t:ts
source:t:nix
source:t:after.ts
source:t:before.zts
source:t:source.ts_ms
source:t:source.ts_us
source:t:source.zts
source:t:source.lsn
source:t:source.ts_ms,t:ts
source:t:ts_ms
source:t:n.ts
topic:p.public.t
topic:p.public.t:zts
topic:t
t:ts
p.public.t:ts
p.public.t:source.ts_ns,p.public.t:mts
source:u,t:ts
source:t:ts,t:zts
source:t:ts,source:t
source:t:ts,source:t:zts
topic:q:ts,source:t
u:ts,t:zts
t:ts,zts
x:y:z
SOURCE:t
source:t:ts-x
 source:t , source:u
source:t,
t
source
source:
:ts
""".strip("\n").splitlines()


def cases() -> Iterator[Case]:
    for zone in (
        None,
        "",
        "x",
        "Z",
        "GMT+2",
        "-8",
        "+8",
        "+5:30",
        "+0530",
        "UTC+02:00",
        "America/los_angeles",
        " Europe/Berlin",
        "+01:00 ",
    ):
        yield _case(zone)
    for zone in ("Pacific/Easter", "Asia/Kolkata", BERLIN, "UTC", "GMT", "Etc/GMT-5", "MST7MDT", "WET", "GMT0"):
        yield _case(zone, event(PLAIN, before=True))
    for zone in ("+05:30", "-08:00", "+00:00", "-00:00", "+18:00", "+05:30:15"):
        yield _case(zone, event(before=True))
    for name, counts in (("ts", 1), ("mts", 1000), ("nts", 1000000), ("cts", 1)):
        for millis in LOCALS if counts < 1000000 else LOCALS[:-2]:
            yield _case(BERLIN, event({name: millis * counts + counts // 2}))
    for name, count in (
        ("ts", 2**63 - 1),
        ("ts", -(2**63)),
        ("mts", 2**63 - 1),
        ("mts", -(2**63)),
        ("mts", 9223371331200000000),
        ("mts", -9223372036832400000),
        ("nts", 2**63 - 1),
        ("nts", -(2**63)),
        ("ts", 9223372036832400),
        ("mts", -1),
        ("nts", -1),
    ):
        yield _case(BERLIN, event({name: count}))
        yield _case("-05:30", event({name: count}))
    for text in TEXTS:
        yield _case(BERLIN, event({"zts": text}))
        yield _case("+05:30", event({"zts": text}))
    for text in (
        "15:13:16Z",
        "15:13Z",
        "23:30:00Z",
        "15:13:16.100Z",
        "15:13:16+02:00",
        "15:13:16.123456789Z",
        "24:00:00Z",
        "15:13:16",
        "x",
    ):
        yield _case("+05:30", event({"zt": text}))
    yield from _lists()


def _lists() -> Iterator[Case]:
    some = {name: KINDS[name][1] for name in ("ts", "mts", "zts", "n")}
    for rules in RULES:
        yield _case("+02:00", event(some, before=True), include=rules)
        yield _case("+02:00", event(some, before=True), exclude=rules)
    for rules in ("source:t", "topic:p.public.t", "t:ts", "p.public.t:ts"):
        for record in (event(some, flat=True), event(some, source=False)):
            yield _case("+02:00", record, include=rules)
            yield _case("+02:00", record, exclude=rules)
    yield _case("+02:00", include="source:t", exclude="source:u")
    yield _case("+02:00", event(some), include="")
    yield _case(BERLIN, event(some), include="source:t:source.ts_ms,t:source.ts_us,t:source.ts_ns")
    for name in ("x", "p.public.t.Value"):
        yield _case("+02:00", event(some, name))
    yield _case("+02:00", event(some, flat=True))
    yield _case("+02:00", event(dict.fromkeys(some)))
    for value in ([required("string"), "a"], [None, {"after": {"ts": 1}}], None):
        yield _case("+02:00", {"topic": "x", "key": [required("int32"), 1]} | ({} if value is None else {"value": value}))
    yield from _defaults()


def _defaults() -> Iterator[Case]:
    """Nulls of columns that have a default."""
    columns = {name: {**KINDS[name][0], "default": KINDS[name][1]} for name in ("ts", "mts", "nts", "zts", "cts", "i")}
    row = {**struct(columns, "p.public.t.Value"), "optional": True}
    schema = struct({"before": row, "after": row, "source": struct({"table": required("string")}, "Source"), "op": required("string")})
    value = {"before": None, "after": dict.fromkeys(columns), "source": {"table": "t"}, "op": "c"}
    record = {"topic": "p.public.t", "value": [{**schema, "name": "p.public.t.Envelope"}, value]}
    for zone in (BERLIN, "+05:30"):
        yield _case(zone, record)
        yield _case(zone, record, include="source:t:ts")
        yield _case(zone, record, exclude="source:t:zts")
