"""The types of columns that are drawn, with their values, defaults and the types that are created for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .literals import (
    Drawer,
    array,
    bits,
    data,
    date,
    decimal,
    fixed,
    integer,
    long_text,
    multirange_of,
    natural,
    number,
    one_of,
    range_of,
    text,
    timestamp,
    uuid,
)

EXTENSIONS: Final = {
    "hstore": ("hstore", "dhs"),
    "ltree": ("ltree", "lquery"),
    "citext": ("citext",),
    "isn": ("isbn",),
    "cube": ("cube",),
    "postgis": ("geometry", "geography", "geometry(Point,4326)"),
}
"""The kinds that are left out on a server without the extension."""
SETUP: Final = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'very happy', 'Ünï,comma');
CREATE TYPE comp AS (a int, "B b" text, c date);
CREATE TYPE fr AS RANGE (subtype = float8);
CREATE DOMAIN posint AS int CHECK (VALUE > 0);
CREATE DOMAIN shorttext AS varchar(5);
CREATE DOMAIN dmoney AS numeric(12,3);
CREATE DOMAIN dts AS timestamp(3);
CREATE DOMAIN ddom AS posint DEFAULT 9;
CREATE DOMAIN darr AS int[];
CREATE DOMAIN dtarr AS text[] DEFAULT '{x}';
CREATE DOMAIN ddarr AS darr;
CREATE DOMAIN dnn AS text NOT NULL;
CREATE DOMAIN dbit AS bit(3);
CREATE DOMAIN dvar AS shorttext;
CREATE DOMAIN duuid AS uuid;
CREATE DOMAIN djson AS jsonb;
CREATE DOMAIN dtime AS time(2);
CREATE DOMAIN drange AS int4range;
CREATE SCHEMA "Other s";
CREATE SCHEMA s2;
CREATE TABLE public.zz_end (id int PRIMARY KEY, m text);
CREATE TABLE public.beats (id int PRIMARY KEY, n int);
CREATE TABLE public.dbz_signal (id varchar(64) PRIMARY KEY, type varchar(32), data varchar(4096));
"""
INTEGERS: Final = ("-100", "0", "1", "5", "77", "1000")
DAYS: Final = ("2000-01-01", "2020-05-05", "2024-12-31")
INSTANTS: Final = ("2000-01-01 00:00:00", "2020-05-05 01:02:03.5", "2024-12-31 23:59:59.999999")


@dataclass(frozen=True, slots=True)
class Kind:
    """One type: how its values are drawn, whether arrays of it are drawn, whether it may be a key, and its defaults."""

    name: str
    draw: Drawer
    array: bool = False
    key: bool = False
    defaults: tuple[str, ...] = ()

    def array_of(self) -> Kind:
        """The array type whose elements are of this kind."""
        name = f"{self.name}[]"
        return Kind(name, array(self.draw, name), defaults=("'{}'",))


def _numeric() -> Iterable[Kind]:
    floats = one_of(
        "0", "-0", "1.5", "0.1", "-123.456", "1e10", "1e20", "1e-5", "NaN", "Infinity", "-Infinity", "12345.25", "0.001", "0.0001", "1e7"
    )
    yield Kind("smallint", integer(-(2**15), 2**15 - 1), array=True, key=True, defaults=("7", "-1", "(1+1)", "'5'"))
    yield Kind("integer", integer(-(2**31), 2**31 - 1), True, True, ("42", "-2147483648", "abs(-5)", "NULL", "'-3'", "length('abc')"))
    yield Kind("bigint", integer(-(2**63), 2**63 - 1), True, True, ("9223372036854775807", "(-5)", "1::bigint", "(random()*0)::bigint"))
    yield Kind("real", floats, array=True, defaults=("1.5", "'NaN'", "'-Infinity'", "-0.25", "1"))
    yield Kind("double precision", floats, array=True, defaults=("0.1", "'Infinity'", "1e10", "pi()", "-1"))
    yield Kind("numeric", number, array=True, defaults=("1.50", "'NaN'", "100", "-0.001", "1e5"))
    yield Kind("numeric(10,2)", decimal(10, 2), True, True, ("0", "1.5", "-99.99", "12345678.90", "1", "1.005"))
    yield Kind("numeric(38,10)", decimal(38, 10), array=True, defaults=("1", "0.0000000001"))
    yield Kind("numeric(5,0)", decimal(5, 0), array=True, key=True, defaults=("5", "-5"))
    yield Kind("numeric(3,3)", decimal(3, 3), defaults=("0.5",))
    money = one_of("0", "1.25", "-1.25", "92233720368547758.07", "-92233720368547758.08", "100")
    yield Kind("money", money, defaults=("1.5", "'$3.20'::money", "0", "-1::money"))
    yield Kind("boolean", lambda random, _: random.choice(("true", "false")), True, True, ("true", "false", "'t'", "NOT true"))
    yield Kind("bit", bits(1, 1), defaults=("B'1'", "'0'"))
    yield Kind("bit(5)", bits(5, 5), defaults=("B'10101'", "'00001'"))
    yield Kind("bit(70)", bits(70, 70))
    yield Kind("bit varying", bits(0, 20), defaults=("B'101'",))
    yield Kind("bit varying(12)", bits(0, 12), defaults=("B'101'", "''"))
    yield Kind("oid", integer(0, 2**32 - 1), array=True, key=True, defaults=("5", "'16384'"))


def _texts() -> Iterable[Kind]:
    yield Kind("char(5)", text(5), array=True, key=True, defaults=("'ab'", "'abcde'"))
    yield Kind("character varying(20)", text(20), True, True, ("'it''s'", "'x'::character varying", "lower('ABC')", "''", "E'a\\nb'"))
    defaults: tuple[str, ...] = ("'hello'", "''", "'multi word'::text", "current_user", "'a' || 'b'", "NULL", "'a''b\"c'", "'::text'")
    yield Kind("text", long_text, array=True, key=True, defaults=defaults)
    yield Kind("citext", text(), array=True, key=True, defaults=("'CiText'",))
    yield Kind("name", text(30))
    yield Kind('"char"', one_of(*"abcXYZ1"), defaults=("'a'",))
    yield Kind("bytea", data, array=True, key=True, defaults=("'\\xdead'", "'abc'", "'\\x'"))
    uuids = ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "gen_random_uuid()")
    yield Kind("uuid", uuid, array=True, key=True, defaults=uuids)
    yield Kind("json", JSON, array=True, defaults=("'{}'", "'{\"a\": 1}'"))
    yield Kind("jsonb", JSON, array=True, defaults=("'[]'", '\'{"b":2,"a":1}\'::jsonb', "jsonb_build_object('a',1)"))
    xml = one_of("<a/>", '<a b="c">text &amp; é</a>', '<?xml version="1.0"?><r><x/></r>', "plain", "<a>\n <b/>\n</a>")
    yield Kind("xml", xml, array=True, defaults=("'<a/>'",))
    yield Kind("tsvector", one_of("a b c", "'fat':2A 'cat':1B,3", "", "x:1 y:2C", cast="::tsvector"), array=True, defaults=("'a b'",))
    yield Kind("tsquery", one_of("a & b", "!x", "'a b' | c"), array=True)
    yield Kind("hstore", HSTORE, array=True, defaults=("'a=>1'", "''", "'a=>1'::hstore"))
    yield Kind("ltree", one_of("a.b.c", "Top", "a_1.b2", ""), defaults=("'a.b'",))
    yield Kind("lquery", one_of("a.*", "*"))
    yield Kind("isbn", one_of("978-0-393-04002-9"))
    yield Kind("jsonpath", one_of("$.a"))


JSON: Final = one_of(
    "{}", "[]", "null", '{"a": 1,  "b":[1,2,{"c":null}]}', '"s"', "1.10", '{"z":1,"a":2,"a":3}', '{"u":"\\u00e9 é 😀"}', "[1e400]",
    '  {"sp" : true }  ',
)  # fmt: skip
HSTORE: Final = one_of(
    "", "a=>1", 'a=>NULL,b=>"x y"', '"q\\"uote"=>"b\\\\s"', 'k=>"",z=>"é😀"', '"1"=>"2", "a"=>"b"', '"<&>"=>"/"', cast="::hstore"
)
ENUM: Final = one_of("sad", "ok", "very happy", "Ünï,comma")


def _times() -> Iterable[Kind]:
    yield Kind("date", date, array=True, key=True, defaults=("'2020-01-01'", "CURRENT_DATE", "'1600-01-01'"))
    time = one_of("00:00:00", "12:34:56.789012", "23:59:59.999999", "24:00:00", "01:02:03.5", "00:00:00.000001", "23:59:59.9999999")
    for digits in ("", "(0)", "(1)", "(2)", "(3)", "(4)", "(6)"):
        whole = not digits
        yield Kind(f"time{digits}", time, array=whole, defaults=("'12:00:00'", "'01:02:03.456789'", "LOCALTIME", "'24:00:00'"))
        defaults: tuple[str, ...] = ("'2020-01-01 01:02:03.456'", "now()", "'infinity'", "LOCALTIMESTAMP", "'1500-01-01 00:00:00'")
        yield Kind(f"timestamp{digits}", timestamp("::timestamp"), array=whole, key=whole, defaults=defaults)
        defaults = (f"'2020-01-01 01:02:03{'.456' if whole else ''}+02'", "now()", "CURRENT_TIMESTAMP", "'infinity'")
        yield Kind(f"timestamptz{digits}", timestamp("::timestamptz"), array=whole, defaults=defaults)
    zoned = one_of("00:00:00+00", "12:34:56.789012+05:30", "23:59:59.999999-12", "24:00:00+00", "01:02:03.5+14", "01:00:00-00:15")
    yield Kind("timetz", zoned, array=True, defaults=("'12:00:00+02'",))
    yield Kind("timetz(3)", zoned)
    interval = one_of(
        "1 year 2 mons 3 days 04:05:06.789", "-1 mons", "0", "1 day", "-1 day +02:00:00", "178000000 years", "-00:00:00.000001",
        "100:00:00", "1 mon -1 day", "2562047:00:00", "14 mons", "P1Y2M3DT4H5M6.5S",
    )  # fmt: skip
    yield Kind("interval", interval, array=True, defaults=("'1 day'", "'1 year 2 mons 3 days 04:05:06.789'", "'0'"))
    yield Kind("interval(2)", interval)
    yield Kind("interval year to month", interval, defaults=("'2 years'",))


def _others() -> Iterable[Kind]:
    inet = one_of("10.0.0.1", "10.1.2.3/8", "::1", "fe80::1/64", "192.168.0.0/24", "::ffff:1.2.3.4", "0.0.0.0/0", "2001:db8::/32")
    yield Kind("inet", inet, array=True, key=True, defaults=("'10.0.0.1'",))
    cidr = one_of("10.0.0.0/8", "192.168.1.0/24", "::/0", "2001:db8::/32", "1.2.3.4/32")
    yield Kind("cidr", cidr, array=True, key=True, defaults=("'10.0.0.0/8'",))
    yield Kind("macaddr", one_of("08:00:2b:01:02:03"), array=True, key=True, defaults=("'08:00:2b:01:02:03'",))
    yield Kind("macaddr8", one_of("08:00:2b:01:02:03:04:05"), array=True, defaults=("'08:00:2b:01:02:03:04:05'",))
    yield Kind("point", one_of("(1,2)", "(-1.5,0)", "(1e10,0.1)"), array=True, defaults=("'(1,2)'", "point(0,0)"))
    for name, value in (("line", "{1,2,3}"), ("lseg", "[(0,0),(1,1)]"), ("box", "(1,1),(0,0)"), ("circle", "<(0,0),1.5>")):
        yield Kind(name, one_of(value))
    yield Kind("path", one_of("((0,0),(1,1))", "[(0,0),(1,1)]"))
    yield Kind("polygon", one_of("((0,0),(1,1),(1,0))"))
    yield Kind("int4range", range_of(INTEGERS), array=True, defaults=("'[1,5)'", "'empty'", "int4range(1,2)"))
    yield Kind("int8range", range_of(INTEGERS), array=True)
    yield Kind("numrange", range_of(INTEGERS), array=True, defaults=("'[1.5,2]'",))
    yield Kind("daterange", range_of(DAYS), array=True, defaults=("'[2020-01-01,2021-01-01)'",))
    yield Kind("tsrange", range_of(INSTANTS), array=True)
    yield Kind("tstzrange", range_of(INSTANTS), array=True, defaults=("'[2020-01-01,)'",))
    yield Kind("int4multirange", multirange_of(INTEGERS), array=True, defaults=("'{}'",))
    yield Kind("nummultirange", multirange_of(INTEGERS), array=True)
    yield Kind("tstzmultirange", multirange_of(INSTANTS), array=True)
    yield Kind("datemultirange", multirange_of(DAYS), array=True)
    yield Kind("cube", one_of("(1,2,3)", "(0)", "(1,2),(3,4)"))
    yield Kind("xid", lambda random, _: f"'{random.randint(0, 2**31)}'")
    for name, value in (("pg_lsn", "16/B374D848"), ("regclass", "pg_class"), ("txid_snapshot", "10:20:10,14,15"), ("tid", "(1,2)")):
        yield Kind(name, one_of(value))
    shapes = ("'POINT(1 2)'::geometry", "'SRID=4326;POINT(1 2)'::geometry", "'LINESTRING(0 0,1 1)'::geometry")
    yield Kind("geometry", lambda random, _: random.choice(shapes), array=True)
    yield Kind("geography", fixed("'POINT(1 2)'::geography"), array=True)
    yield Kind("geometry(Point,4326)", fixed("'SRID=4326;POINT(1 2)'::geometry"))


def _own() -> Iterable[Kind]:
    """Of the types that SETUP creates."""
    yield Kind("mood", ENUM, array=True, key=True, defaults=("'sad'", "'very happy'", "'ok'::mood"))
    rows = ("ROW(1,'x',NULL)", "ROW(NULL,'a,b','2020-01-01')", "ROW(-5,'q\"q',NULL)")
    yield Kind("comp", lambda random, _: random.choice(rows), defaults=("ROW(1,'a',NULL)",))
    yield Kind("fr", range_of(("1.5", "2", "9")))
    yield Kind("posint", natural(2**31 - 1), array=True, key=True, defaults=("5", "7::posint"))
    yield Kind("shorttext", text(5), array=True, key=True, defaults=("'abc'", "'x'::shorttext"))
    yield Kind("dmoney", decimal(12, 3), array=True, defaults=("1.5",))
    yield Kind("dts", timestamp("::timestamp"), defaults=("now()", "'2020-01-01 00:00:00'"))
    yield Kind("ddom", natural(1000), defaults=("5",))
    yield Kind("darr", array(integer(0, 9), "int[]"), defaults=("'{1,2}'", "ARRAY[1]"))
    yield Kind("dtarr", array(text(9), "text[]"), defaults=("'{}'",))
    yield Kind("ddarr", array(integer(0, 9), "int[]"))
    yield Kind("dnn", text(6))
    yield Kind("dbit", bits(3, 3))
    yield Kind("dvar", text(5))
    yield Kind("dhs", HSTORE)
    yield Kind("duuid", uuid, key=True)
    yield Kind("djson", JSON)
    yield Kind("dtime", one_of("00:00:00", "12:34:56.789012", "24:00:00"))
    yield Kind("drange", range_of(INTEGERS))


KINDS: Final = {kind.name: kind for kind in (*_numeric(), *_texts(), *_times(), *_others(), *_own())}
