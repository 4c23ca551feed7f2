"""Records what ``java.text.SimpleDateFormat``, the number types of Java and Connect's ``Values`` make of texts and values.

Usage: ``python -m tests.support.record_java_values JARS``, a folder with the jars of Kafka Connect 4.3. Start it with ``LANG=C.UTF-8``.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JJavaError

from tests.support.java_transforms import CONNECT, JavaTransforms, java
from tests.support.transform_cases_kafka import RECORDS

UNIT: Final = Path(__file__).parents[1] / "unit/connector"
TIMES: Final = (
    0,
    -1,
    1,
    86_399_999,
    86_400_000,
    1_700_000_000_123,
    951_782_399_999,
    951_782_400_000,
    1_704_067_199_000,
    1_704_067_200_000,
    1_735_689_599_999,
    4_102_444_800_000,
    253_402_300_799_999,
    253_402_300_800_000,
    -12_219_292_800_000,
    -12_219_292_800_001,
    -62_135_769_600_000,
    -62_135_769_600_001,
    -99_999_999_999_999,
    1_672_531_200_000,
    1_672_444_800_000,
    1_609_459_200_000,
)
LETTERS: Final = "GyYMLwWDdFEuaHkKhmsSzZX"
PATTERNS: Final = (
    *(letter * count for letter in LETTERS for count in range(1, 6)),
    "",
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    "EEE, d MMM yyyy HH:mm:ss Z",
    "'it''s' yyyy ''",
    "yyyyMMddHHmmssSSS",
    "b",
    "I",
    "'open",
    "yyyy-MM-dd B",
    "\u00e9yyyy\u00e9",
)
READ: Final[dict[str, tuple[str, ...]]] = {
    "yyyy-MM-dd": (
        "2024-01-31",
        "2024-1-3",
        "2024-13-01",
        "2024-02-30",
        "2024-00-00",
        "24-1-1",
        "-5-1-1",
        "2024-01",
        "2024-01-31 more",
        " 2024-01-31",
        "2024- 01-31",
        "2024-01--1",
        "20240131",
        "x",
        "",
        "2024/01/31",
        "1582-10-10",
        "1582-10-15",
        "1500-02-29",
        "0000-01-01",
        "99999-12-31",
        "2024-01-31Z",
        "\u0662\u0660\u0662\u0664-01-01",
        "+2024-01-01",
        "2024.5-01-01",
    ),
    "yy-MM-dd": ("24-01-31", "45-01-01", "46-01-01", "99-1-1", "5-1-1", "124-1-1", "2024-1-1", "00-1-1", "-4-1-1"),
    "yyyyMMdd": ("20240131", "2024131", "202401311", "24013112", "2024-01-31", "2024 131"),
    "yyyyMMddHHmmssSSS": ("20240131235959999", "2024013123595999", "202401312359599", "20240131"),
    "yyyy-MM-dd HH:mm:ss": ("2024-01-31 23:59:59", "2024-01-31 24:60:61", "2024-01-31T00:00:00", "2024-01-31  1:2:3", "2024-01-31 -1:0:0"),
    "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'": (
        "2024-01-31T10:20:30.4Z",
        "2024-01-31T10:20:30.456789Z",
        "2024-01-31T10:20:30Z",
        "2024-01-31T10:20:30.456",
    ),
    "yyyy-MM-dd'T'HH:mm:ssX": (
        "2024-01-31T10:20:30Z",
        "2024-01-31T10:20:30+02",
        "2024-01-31T10:20:30+0200",
        "2024-01-31T10:20:30",
        "2024-01-31T10:20:30-2",
    ),
    "yyyy-MM-dd HH:mm XX": (
        "2024-01-31 10:20 +0230",
        "2024-01-31 10:20 +02:30",
        "2024-01-31 10:20 +02",
        "2024-01-31 10:20 Z",
        "2024-01-31 10:20 +2530",
    ),
    "yyyy-MM-dd HH:mm XXX": ("2024-01-31 10:20 +02:30", "2024-01-31 10:20 +0230", "2024-01-31 10:20 -11:59", "2024-01-31 10:20 z"),
    "yyyy-MM-dd HH:mm Z": (
        "2024-01-31 10:20 +0230",
        "2024-01-31 10:20 -02:30",
        "2024-01-31 10:20 GMT+1:00",
        "2024-01-31 10:20 UTC",
        "2024-01-31 10:20 +2",
    ),
    "yyyy-MM-dd HH:mm z": (
        "2024-01-31 10:20 UTC",
        "2024-01-31 10:20 GMT",
        "2024-01-31 10:20 gmt+02:00",
        "2024-01-31 10:20 Coordinated Universal Time",
        "2024-01-31 10:20 ??",
    ),
    "EEE, d MMM yyyy": (
        "Wed, 31 Jan 2024",
        "wednesday, 31 january 2024",
        "Fri, 31 Jan 2024",
        "Xxx, 31 Jan 2024",
        "Wed, 31 Ja 2024",
        "Wed, 31 May 2024",
    ),
    "d MMMM y G": ("1 June 44 BC", "1 June 2024 AD", "1 jun 1 bc", "1 June 2024 ad"),
    "h:mm a": ("12:00 AM", "12:00 pm", "1:05 PM", "13:00 PM", "0:30 am", "1:05"),
    "K:mm a": ("0:00 AM", "11:59 PM", "12:00 PM"),
    "k:mm": ("24:00", "1:00", "0:00", "25:00"),
    "HH:mm a": ("13:00 AM", "01:00 PM"),
    "a": ("PM", "AM", "x"),
    "yyyy D": ("2024 60", "2023 366", "2024 0"),
    "YYYY-'W'ww-u": ("2024-W01-1", "2024-W53-7", "2020-W53-3", "2024-W01-8", "2024-W1-0"),
    "yyyy w E": ("2024 1 Mon", "2024 53 Sat", "2024 10 Sunday"),
    "yyyy MM W E": ("2024 02 1 Mon", "2024 02 5 Thu", "2024 02 2 Sun"),
    "yyyy MM F E": ("2024 02 1 Mon", "2024 02 5 Thu", "2024 02 2 Sun"),
    "yyyy w": ("2024 1", "2024 10"),
    "yyyy MM W": ("2024 02 1", "2024 02 3"),
    "yyyy MM F": ("2024 02 1", "2024 02 3"),
    "E": ("Mon", "Sunday", "sat"),
    "yyyy E": ("2024 Mon", "2024 Sunday"),
    "u": ("1", "7", "8"),
    "YYYY": ("2024", "2000"),
    "YYYY-MM-dd": ("2024-01-31", "2024-06-15"),
    "dd": ("12", "1", "99"),
    "MM": ("12", "0"),
    "LLL yy": ("Feb 24", "feb 60"),
    "yyyyMMM": ("2024Jan", "2024 Jan"),
    "HHmm": ("1230", "930", "12"),
    "s.S": ("5.5", "5.50", "5.123456"),
    "'at' HH": ("at 12", "At 12"),
    "yyyy''": ("2024'", "2024"),
    "M/d/y": ("1/2/3", "1/2/24", "12/31/1999", "1/2/003"),
    "": ("", "x"),
}
NUMBERS: Final = (
    *("1", "-1", "+1", "0", "-0", "127", "128", "-128", "-129", "32767", "32768", "2147483647", "2147483648", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775808", "-9223372036854775809", "10000000000000000000", "10000000000000000001", "1.0", "1.5"),
    *(
        "0.1",
        "-0.1",
        "1e2",
        "1E+2",
        "1.5e1",
        "1.25e1",
        "1e-2",
        "1e400",
        "1.5e400",
        "1e-400",
        "3.5e38",
        "1.7e308",
        "16777217.5",
        "1.",
        "+.5",
    ),
    *(".5", "1e", "1e5x", "0x10", "1f", "1d", "--1", "+-1", "00012", "1_000", "1e19", "1.1e19", "0.0", "0e5", "100.00", "1e10000000000"),
    *(
        "123456789.123456789",
        "0.30000001192092896",
        "1e45",
        "1.00000017881393432617187499",
        "1e2147483647",
        "1e2147483648",
        "NaN",
        "Infinity",
    ),
)
TEXTS: Final = (
    *NUMBERS,
    *('["a",1.1,2024-01-31]', '["a",[1.1,2],{"d":10:20:30.400Z}]', '{"a":1.1,"b":true,"c":"10:20:30.400Z"}', "[1.1,2]", '["a",null,1e400]'),
    *(
        "",
        " ",
        "a",
        " a ",
        "true",
        "True",
        " true ",
        "true}",
        "false",
        "null",
        " null ",
        "null,",
        "nulls",
        "'",
        '"',
        '"a"',
        '"a',
        "a:b",
        "a,b",
    ),
    *("2024-01-31", "2024-01-31 ", "10:20:30.400Z", "2024-01-31T10:20:30.400Z", "2024-01-31T10:20:30Z", "2024-13-31", "1:2:3:4:5", "12:34"),
    *("2024-01-31T10\\:20\\:30.400Z", "10\\:20\\:30.400Z", "2024-01-3x", "1234567890", "123456789a", "20240131aa", "1999-99-99"),
    *(
        "[]",
        "[1]",
        "[1,2]",
        "[ 1 , 2 ]",
        "[1,2",
        "[1,2]x",
        "[1,2] ",
        " [1]",
        "[1,,2]",
        "[,1]",
        "[1,]",
        "[1 2]",
        "[1,300]",
        "[300,1]",
        "[1,70000]",
    ),
    *("[1,5000000000]", "[1,1.5]", "[1.5,1]", "[1.5,1e300]", "[1e300,1.5]", '["a"]', '["a","b"]', '["a",1]', '[1,"a"]', '[1,"a",2]', "[a]"),
    *(
        "[null]",
        "[1,null]",
        "[null,1]",
        "[true,false]",
        "[true,null]",
        "[true,1]",
        '["a",null]',
        "[[1],[2]]",
        "[[1],[300]]",
        '[[1],["a"]]',
        "[[]]",
    ),
    *(
        '["2024-01-31"]',
        "[2024-01-31]",
        '["10:20:30.400Z"]',
        "[2024-01-31,1]",
        "[1,2024-01-31]",
        '["2024-01-31","a"]',
        '["a\\"b"]',
        '["a\\\\"]',
        '["a:b,c"]',
    ),
    *(
        '[" a "]',
        '["  "]',
        '[""]',
        '["a" , "b" ]',
        '["true"]',
        '["1"]',
        '["null"]',
        "[10000000000000000000]",
        "[1e400,1.5e400]",
        "[1,10000000000000000000]",
    ),
    *(
        "{}",
        '{"a":1}',
        "{a:1}",
        '{"a":1,"b":2}',
        '{"a":1 "b":2}',
        '{"a":1,}',
        '{"a":1',
        '{"a"}',
        '{"a":}',
        '{"a":null}',
        '{"a":null,"b":1}',
    ),
    *(
        "{1:2}",
        "{1:2,300:4}",
        '{"a":1,"b":300}',
        '{"a":1,"b":"c"}',
        '{"a":[1,2]}',
        '{"a":{"b":1}}',
        "{null:1}",
        '{"a":1}x',
        ' { "a" : 1 } ',
        "{,}",
    ),
    *(
        '{"a":1,"a":2}',
        "{true:1}",
        "{[1]:2}",
        '{"a":1;"b":2}',
        "{1:a}",
        '{"a":2024-01-31}',
        '{"2024-01-31":1}',
        "{1.5:true}",
        '{"a":"b",1:2}',
    ),
    *(
        '[{"a":1},{"a":2}]',
        '[{"a":1},null]',
        "[1]]",
        "]",
        "}",
        "{",
        "[",
        ":",
        ",",
        "\\",
        "\\[1]",
        "a\\",
        "[\\1]",
        '"\\"',
        "1:",
        "1,",
        "1]",
        "-",
        "+",
        "- 1",
    ),
    *(
        "\u00e91",
        "\u06611",
        "\u00a01",
        "\t1\t",
        "\n1",
        "1\u2003",
        "[\u00a01]",
        "[\t1\n]",
        "x[1]",
        "[1]y[2]",
        "\U0001f600",
        "[-]",
        "[+1]",
        "[1e2]",
    ),
)


def _listed(lines: Iterable[Any]) -> str:
    return "[\n" + ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "]"


def _attempt(call: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a call answers, or ``{"failed": text}``."""
    try:
        return call(*arguments)
    except Py4JJavaError as error:
        return {"failed": str(error.java_exception.getMessage())}


def record_dates(jvm: Any) -> None:
    """Record what is written and read by patterns."""

    def formatter(pattern: str) -> Any:
        made = jvm.java.text.SimpleDateFormat(pattern)
        made.setTimeZone(jvm.java.util.TimeZone.getTimeZone("UTC"))
        return made

    # The years that two digits stand for depend on the day: 80 years before it begin.
    start = formatter("yyyy").parse("1946")

    def read(pattern: str, text: str) -> Any:
        made = formatter(pattern)
        made.set2DigitYearStart(start)
        return _attempt(lambda: made.parse(text).getTime())

    def write(pattern: str) -> list[str]:
        made = formatter(pattern)
        return [made.format(jvm.java.util.Date(time)) for time in TIMES]

    written = [[pattern, _attempt(write, pattern)] for pattern in PATTERNS]
    parsed = [[pattern, [[text, read(pattern, text)] for text in texts]] for pattern, texts in READ.items()]
    text = f'{{"times": {json.dumps(TIMES)},\n"written": {_listed(written)},\n"read": {_listed(parsed)}}}\n'
    (UNIT / "java/date_format_recorded.json").write_text(text, encoding="utf-8")


def record_numbers(jvm: Any) -> None:
    """Record how texts are read as numbers."""
    lang = jvm.java.lang
    more = (
        "",
        " ",
        " 1 ",
        "0x1p3",
        "-0X1.8P1d",
        "1.5f",
        "1e3D",
        "NaNf",
        "-Infinity",
        "+NaN",
        "infinity",
        "1e39",
        "1e309",
        "\u0661",
        "4.9e-324",
        "1e-46",
    )
    tries = {
        "byte": lang.Byte.parseByte,
        "long": lang.Long.parseLong,
        "float": lambda text: jvm.java.lang.Float.toString(jvm.java.lang.Float.parseFloat(text)),
        "double": lambda text: jvm.java.lang.Double.toString(jvm.java.lang.Double.parseDouble(text)),
    }
    lines = [[text, *(_attempt(read, text) for read in tries.values())] for text in itertools.chain(NUMBERS, more)]
    (UNIT / "java/numbers_recorded.json").write_text(
        f'{{"kinds": {json.dumps(list(tries))},\n"texts": {_listed(lines)}}}\n', encoding="utf-8"
    )


def record_values(transforms: JavaTransforms) -> None:
    """Record what texts stand for, and the texts of the records' keys and values."""
    values = transforms.jvm.org.apache.kafka.connect.data.Values
    parsed = [(text, values.parseString(text)) for text in TEXTS]
    lines = [[text, _parsed(transforms, found), None if found is None else transforms.text(found)] for text, found in parsed]
    hoist = transforms.make(f"{CONNECT}.transforms.HoistField$Value", {"field": "it"})
    texts: list[Any] = []
    for name, spec in RECORDS.items():
        record = transforms.record(spec)
        wrapped = hoist.apply(record)
        texts.append([name, _attempt(transforms.value_text, wrapped)])
    text = f'{{"parsed": {_listed(lines)},\n"texts": {_listed(texts)}}}\n'
    (UNIT / "record/values_recorded.json").write_text(text, encoding="utf-8")


def _parsed(transforms: JavaTransforms, parsed: Any) -> Any:
    if parsed is None:
        return None
    try:
        return transforms.reported_header(parsed)
    except Py4JJavaError:
        # JsonConverter cannot describe a list of nothing but nulls.
        return ["untyped", parsed.value().toString()]


def main() -> None:
    """Record all three."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("jars", type=Path)
    with java(arguments.parse_args().jars) as gateway:
        record_dates(gateway.jvm)
        record_numbers(gateway.jvm)
        record_values(JavaTransforms(gateway))


if __name__ == "__main__":
    main()
