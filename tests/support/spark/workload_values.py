"""Random values of every PostgreSQL type that the connector carries, as the server takes them in.

Only values that Debezium's default modes keep: no NaN of ``numeric``, arrays of one dimension, times in arrays in milliseconds, moments
before 294247-01-10. ``support.kept_value`` describes and tests what the modes lose.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Final
from uuid import UUID

from tests.support.printed_text import array_text, hstore_text

Texts = Callable[[Random], str]
"""Makes a text that the type's input function takes."""

UNICODE: Final = (
    "",
    " ",
    "null",
    "it's",
    'a "b" c',
    "back\\slash",
    "tab\tline\nend",
    "é",
    "漢字",
    "😀👩‍👩‍👧",
    "ﷺ",
    "{a,b}",
    "%s",
    "\u200b",
    "x" * 300,
)
EDGE: Final = 0.25
"""How often a value is one of the extremes."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def edged(edges: Sequence[str], other: Texts) -> Texts:
    """One of ``edges`` now and then, else ``other``."""
    return lambda rng: rng.choice(edges) if rng.random() < EDGE else other(rng)


def chosen(*texts: str) -> Texts:
    return lambda rng: rng.choice(texts)


def integer(bits: int) -> Texts:
    limit = 1 << (bits - 1)
    return edged([str(-limit), str(limit - 1), "0", "-1"], lambda rng: str(rng.randrange(-limit, limit)))


def decimal(digits: int, scale: int) -> Texts:
    """Up to ``digits`` digits, ``scale`` of them after the point. A negative scale rounds to tens."""
    most = 10**digits - 1

    def text(unscaled: int) -> str:
        return f"{Decimal(unscaled).scaleb(-scale):f}" if abs(unscaled) < 10**28 else _pointed(unscaled, scale)

    def other(rng: Random) -> str:
        return text(rng.randrange(-most, most + 1) // 10 ** rng.randrange(digits))

    return edged([text(most), text(-most), text(0), text(1), text(-1)], other)


def _pointed(unscaled: int, scale: int) -> str:
    """As Decimal writes it, for more digits than its context keeps."""
    if scale <= 0:
        return str(unscaled * 10**-scale)
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return f"{'-' if unscaled < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _single(rng: Random) -> str:
    return repr(struct.unpack("f", struct.pack("f", rng.uniform(-1e6, 1e6) * 10.0 ** rng.randrange(-20, 20)))[0])


def _double(rng: Random) -> str:
    return repr(rng.uniform(-1, 1) * 10.0 ** rng.randrange(-300, 300))


def words(most: int) -> Texts:
    return edged(UNICODE, lambda rng: "".join(rng.choice("abc déf漢😀'\"\\xyz 0123") for _ in range(rng.randrange(most))))


def large(rng: Random) -> str:
    """Text that does not fit into its row: more than two kilobytes, and another one each time."""
    return f"{rng.randbytes(1100).hex()}é漢😀'\\\n{rng.randrange(10**9)}"


def _json(rng: Random) -> str:
    some = UNICODE[rng.randrange(len(UNICODE))]
    return rng.choice(
        [
            "null",
            "[]",
            "{}",
            json.dumps(some),
            json.dumps({"a": [some, None, True, {"b": rng.randrange(10**6)}], "é": rng.random()}, ensure_ascii=False),
            f'{{"z": 1, "a": [ 1.50, {rng.randrange(10**18)} ]}}',
        ]
    )


def _large_json(rng: Random) -> str:
    return json.dumps({"big": large(rng), "n": rng.randrange(100)}, ensure_ascii=False)


def _day(rng: Random) -> str:
    return (_EPOCH + timedelta(days=rng.randrange(-200_000, 200_000))).strftime("%Y-%m-%d").rjust(10, "0")


def clock(places: int) -> Texts:
    """A time of day with up to so many fraction digits."""

    def text(rng: Random) -> str:
        whole = f"{rng.randrange(24):02d}:{rng.randrange(60):02d}:{rng.randrange(60):02d}"
        return f"{whole}.{rng.randrange(10**places):0{places}d}" if places else whole

    return text


def _zoned_clock(rng: Random) -> str:
    return clock(6)(rng) + rng.choice(["+00", "+05:30", "-08"])


def moment(places: int, zone: str = "") -> Texts:
    """A timestamp; ``zone`` is its suffix."""
    ends = ["infinity", "-infinity", f"4713-11-24 00:00:00{zone} BC", f"294246-12-31 23:59:59{zone}", f"0044-03-15 01:02:03{zone} BC"]
    last = "." + "9" * places if places else ""
    ends += [f"1969-12-31 23:59:59{last}{zone}", f"10000-01-01 00:00:00{zone}", f"0001-01-01 00:00:00{zone}"]
    part = clock(places)
    return edged(ends, lambda rng: f"{_day(rng)} {part(rng)}{zone}")


def listed(member: Texts, *, nulls: bool = True, delimiter: str = ",") -> Texts:
    """Arrays of one dimension, empty ones too."""

    def text(rng: Random) -> str:
        members = [None if nulls and rng.random() < 0.15 else member(rng) for _ in range(rng.randrange(5))]
        return array_text(members, delimiter)

    return text


def _large_list(rng: Random) -> str:
    return array_text([*(rng.randbytes(40).hex() for _ in range(40)), 'é"\\', None])


def _bits(length: int) -> Texts:
    return edged(["0" * length, "1" * length], lambda rng: f"{rng.getrandbits(length):0{length}b}")


def _interval(rng: Random) -> str:
    sign = rng.choice(["", "-"])
    clock_part = f"{sign}{rng.randrange(100):02d}:{rng.randrange(60):02d}:{rng.randrange(60):02d}.{rng.randrange(10**6):06d}"
    return f"{rng.randrange(-200, 200)} mons {rng.randrange(-900, 900)} days {clock_part}"


def _uuid(rng: Random) -> str:
    return str(UUID(int=rng.getrandbits(128)))


def _hstore(rng: Random) -> str:
    return hstore_text({rng.choice(["a", "bé", 'q"\\', "long key"]): rng.choice([None, "", "v", "漢'"]) for _ in range(rng.randrange(4))})


def _vector(rng: Random) -> str:
    return f"[{','.join(str(rng.randrange(-2048, 2048) / 16) for _ in range(rng.randrange(1, 5)))}]"


def _sparse(rng: Random) -> str:
    pairs = {rng.randrange(1, 21): rng.randrange(1, 99) / 8 for _ in range(rng.randrange(4))}
    return "{" + ",".join(f"{index}:{value}" for index, value in sorted(pairs.items())) + "}/20"


def _point(rng: Random) -> str:
    return f"({rng.randrange(-9000, 9000) / 64},{rng.uniform(-1e9, 1e9)!r})"


def _number_range(rng: Random) -> str:
    low = rng.randrange(-1000, 1000)
    return rng.choice(["empty", "(,)", f"[{low},)", f"[{low},{low + rng.randrange(1, 50)})"])


def _place(rng: Random) -> str:
    """A point of PostGIS in degrees."""
    return f"SRID=4326;POINT({rng.randrange(-179, 180)} {rng.randrange(-89, 90)})"


REAL: Final = edged(["NaN", "Infinity", "-Infinity", "-0", "3.4028235e+38", "1e-45", "0.1"], _single)
DOUBLE: Final = edged(["NaN", "Infinity", "-Infinity", "-0", "1.7976931348623157e+308", "5e-324", "0.1"], _double)
DATES: Final = ("infinity", "-infinity", "4713-11-24 BC", "0044-03-15 BC", "5874897-12-31", "0001-01-01", "2020-02-29", "10000-01-01")
DATE: Final = edged(DATES, _day)
BYTES: Final = edged(["\\x", "\\x00", "\\xfffefd"], lambda rng: "\\x" + rng.randbytes(rng.randrange(40)).hex())
MOODS: Final = ("sad", "ok", 'very "happy"')
SIXTY_DIGITS: Final = edged(["1" * 60, f"-0.{'0' * 40}1", "0", "0.5", "-1e30"], lambda rng: decimal(60, rng.randrange(30))(rng))

KINDS: Final[dict[str, Texts]] = {
    "boolean": chosen("t", "f"),
    "smallint": integer(16),
    "integer": integer(32),
    "bigint": integer(64),
    "oid": edged(["0", "4294967295"], lambda rng: str(rng.getrandbits(32))),
    "real": REAL,
    "double precision": DOUBLE,
    "numeric": SIXTY_DIGITS,
    "numeric(10,2)": decimal(10, 2),
    "numeric(14,2)": decimal(14, 2),
    "numeric(18,6)": decimal(18, 6),
    "numeric(38,10)": decimal(38, 10),
    "numeric(60,20)": decimal(60, 20),
    "numeric(3,-2)": decimal(3, -2),
    "money": edged(["92233720368547758.07", "-92233720368547758.08", "0", "-0.05"], decimal(12, 2)),
    "text": words(30),
    "varchar(40)": lambda rng: words(20)(rng)[:40],
    "char(5)": lambda rng: words(5)(rng)[:5],
    '"char"': chosen("a", "Z", "~", " "),
    "citext": words(12),
    "uuid": edged([str(UUID(int=0)), str(UUID(int=2**128 - 1))], _uuid),
    "json": _json,
    "jsonb": _json,
    "xml": chosen("<a/>", '<a b="c">ä</a>', "text alone"),
    "tsvector": chosen("'direct':6 'insert':8", "'it''s':1A", ""),
    "inet": chosen("10.0.0.1", "::1", "192.168.0.0/24", "0.0.0.0/0"),
    "cidr": chosen("10.0.0.0/8", "2001:db8::/32"),
    "macaddr": chosen("08:00:2b:01:02:03", "ff:ff:ff:ff:ff:ff"),
    "macaddr8": chosen("08:00:2b:01:02:03:04:05"),
    "int4range": _number_range,
    "int8range": _number_range,
    "numrange": edged(["(,0)", "[1.50,2]"], _number_range),
    "daterange": chosen("[2019-03-31,2020-01-01)", "(,)", "empty", "[0044-03-15 BC,)"),
    "tsrange": chosen('["2019-03-31 15:30:00",infinity)', '("0044-03-15 00:00:00 BC","2020-01-01 00:00:00.5"]', "empty"),
    "tstzrange": chosen('["2019-03-31 15:30:00+00",)', "empty", '["1970-01-01 00:00:00+00","1970-01-01 00:00:00.000001+00"]'),
    "bytea": BYTES,
    "bit(1)": chosen("0", "1"),
    "bit(12)": _bits(12),
    "bit(64)": _bits(64),
    "varbit(40)": edged(["", "0", "1" * 40], lambda rng: f"{rng.getrandbits(30):b}"),
    "date": DATE,
    "time(0)": clock(0),
    "time(3)": edged(["00:00:00", "23:59:59.999"], clock(3)),
    "time": edged(["00:00:00", "24:00:00", "23:59:59.999999", "00:00:00.000001"], clock(6)),
    "timestamp(0)": moment(0),
    "timestamp(3)": moment(3),
    "timestamp": moment(6),
    "timetz": edged(["00:00:00+00", "12:00:00-12", "23:59:59.999999+14"], _zoned_clock),
    "timestamptz(0)": moment(0, "+00"),
    "timestamptz(3)": moment(3, "+00"),
    "timestamptz": moment(6, "+00"),
    "interval": edged(["0", "1 year 2 mons 3 days 04:05:06.789", "-00:00:00.5"], _interval),
    "point": edged(["(0,0)", "(-0.5,1e+20)"], _point),
    "int2vector": chosen("", "1 2 3", "-32768 32767"),
    "oidvector": chosen("", "1 4294967295"),
    "mood": chosen(*MOODS),
    "price": decimal(10, 2),
    "year": integer(32),
    "hstore": _hstore,
    "ltree": chosen("Top.Science.Astronomy", "", "a"),
    "isbn": chosen("0-393-04002-X", "1-56619-909-3"),
    "vector": _vector,
    "halfvec": _vector,
    "sparsevec": _sparse,
    "geometry": _place,
    "geography": _place,
    "boolean[]": listed(chosen("t", "f")),
    "smallint[]": listed(integer(16)),
    "integer[]": listed(integer(32)),
    "bigint[]": listed(integer(64)),
    "real[]": listed(REAL),
    "double precision[]": listed(DOUBLE),
    "numeric[]": listed(SIXTY_DIGITS),
    "numeric(10,2)[]": listed(decimal(10, 2)),
    "text[]": listed(words(10)),
    "varchar(20)[]": listed(lambda rng: words(10)(rng)[:20]),
    "bytea[]": listed(BYTES),
    "date[]": listed(edged(["0044-03-15 BC", "2020-02-29"], _day)),
    "time[]": listed(clock(3)),
    "timestamp[]": listed(edged(["1969-12-31 23:59:59.999999"], lambda rng: f"{_day(rng)} {clock(6)(rng)}")),
    "timestamptz[]": listed(lambda rng: f"{_day(rng)} {clock(6)(rng)}+00"),
    "uuid[]": listed(_uuid),
    "json[]": listed(_json),
    "jsonb[]": listed(_json),
    "mood[]": listed(chosen(*MOODS), nulls=False),
    "inet[]": listed(chosen("10.0.0.1", "::1")),
    "int4range[]": listed(_number_range),
    "hstore[]": listed(_hstore),
    "large text": large,
    "large bytea": lambda rng: "\\x" + rng.randbytes(2400).hex(),
    "large jsonb": _large_json,
    "large text[]": _large_list,
}
"""By the column's type as it is declared. Those that begin with ``large`` do not fit into their row."""

EXTENSIONS: Final = {
    "citext": "citext",
    "hstore": "hstore",
    "hstore[]": "hstore",
    "ltree": "ltree",
    "isbn": "isn",
    "vector": "vector",
    "halfvec": "vector",
    "sparsevec": "vector",
    "geometry": "postgis",
    "geography": "postgis",
    "xml": "xml",
}
"""What the server must offer for a type. ``xml`` is no extension, but some servers are built without it."""
