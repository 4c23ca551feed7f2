"""Random texts of Java: patterns with subjects and replacements, patterns of dates with texts, numbers, properties, keys of maps."""

# ruff: noqa: RUF001 -- letters that look alike are what is compared

from __future__ import annotations

from random import Random
from typing import Any, Final

_ATOMS: Final = (
    "a",
    "b",
    "c",
    "A",
    "B",
    ".",
    "x",
    "1",
    "_",
    "é",
    "ß",
    "İ",
    "ı",
    "ſ",
    "K",
    "k",
    "K",
    "Σ",
    "ς",
    "σ",
    "😀",
    " ",
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "\\h",
    "\\H",
    "\\v",
    "\\V",
    "\\R",
    "\\.",
    "\\t",
    "\\n",
    "\\x41",
    "\\u00e9",
    "\\x{1F600}",
    "\\0101",
    "\\cA",
    "\\e",
    "\\p{L}",
    "\\p{Lu}",
    "\\P{L}",
    "\\p{Alpha}",
    "\\p{Punct}",
    "\\p{IsLatin}",
    "\\p{Upper}",
    "\\p{Lower}",
    "\\pL",
    "\\p{Nd}",
    "\\p{IsGreek}",
    "\\p{Sc}",
    "\\p{ASCII}",
    "\\p{IsAlphabetic}",
    "\\p{javaLowerCase}",
    "\\Qa.b\\E",
    "\\Q*\\E",
    "-",
    ",",
    "\\-",
    "/",
    "#",
    "\n",
    "\r",
    "\x85",
    "ǅ",
    "ÿ",
    "µ",
    "\\p{Cn}",
    "\\p{Cntrl}",
    "\\p{XDigit}",
    "\\p{Blank}",
    "\\p{Graph}",
    "\\p{Print}",
    "\\p{InGreek}",
    "\\p{IsDigit}",
    "\\p{L1}",
    "\\p{Zs}",
    "\\N{LATIN SMALL LETTER A}",
    "\\p{script=Latin}",
    "\\p{gc=Lu}",
    "\\p{IsL}",
    "\\p{Lt}",
    "\\p{M}",
    "\\p{IsPunctuation}",
    "\\p{IsWhite_Space}",
    "\\a",
    "\\f",
    "\\Z",
    "\\E",
)
_EDGES: Final = ("^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z", "^", "$", "\\b")
_MEMBERS: Final = (
    "a",
    "b",
    "c",
    "A-Z",
    "a-c",
    "0-9",
    "\\d",
    "\\w",
    "\\s",
    "\\S",
    "\\p{L}",
    "\\P{Lu}",
    "é",
    "😀",
    "^",
    "-",
    "&",
    "_",
    ".",
    "\\]",
    "\\-",
    "[b-d]",
    "[^a]",
    "&&[a-b]",
    "&&[^b]",
    "&&a-c",
    "&&\\w",
    "x",
    "\\Q]\\E",
    " ",
    "#",
    "ß",
    "K",
    "k",
    "\\x41",
    "\\n",
    "\\h",
    "\\v",
    "{",
    "$",
    "(",
    "|",
    "&&",
    "\\t",
    "İ-ı",
    "à-ö",
    "\\p{Lower}",
    "[a[b]]",
    "\\u0041-\\u0043",
    "[",
    "&&[a-z&&[^c]]",
)
_QUANTIFIERS: Final = (
    "*",
    "+",
    "?",
    "{2}",
    "{1,2}",
    "{0,1}",
    "{1,}",
    "{0}",
    "*?",
    "+?",
    "??",
    "{1,2}?",
    "*+",
    "++",
    "?+",
    "{2}+",
    "{,2}",
    "{",
    "**",
)
_FLAGS: Final = ("i", "x", "u", "m", "s", "d", "iu", "-i", "im", "i-m", "xs", "U", "ims", "-s", "is", "mx")
_ALPHABET: Final = tuple("abcABCx1_éßÉ.,- #K\n\r\x85\u2028kKΣςσ😀İıſi\t0\x0bµÿŸǅ*]&")
_REPLACEMENTS: Final = (
    "",
    "x",
    "$0",
    "[$1]",
    "$2$1",
    "\\$",
    "a\\\\b",
    "${n}",
    "${none}",
    "$",
    "\\",
    "$10",
    "$11",
    "<$0>",
    "$a",
    "${n",
    "$1a",
    "é$1",
)

_DATE_LETTERS: Final = "GyYMLwWDdFEuaHkKhmsSzZX"
_DATE_MALFORMED: Final = ("'", "b", "T")
_DATES: Final = (
    "yyyy-MM-dd",
    "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
    "yyyyMMdd",
    "yyyyMMddHHmmssSSS",
    "yyyy-MM-dd HH:mm:ss",
    "EEE, d MMM yyyy HH:mm:ss Z",
    "dd/MM/yy",
    "yyyy-MM-dd'T'HH:mm:ssXXX",
    "yyyy-MM-dd'T'HH:mm:ss.SSSX",
    "h:mm a",
    "YYYY-'W'ww-u",
    "yyyy D",
    "d MMMM y G",
    "EEEE",
    "MMM d, yyyy h:mm:ss a z",
    "HHmm",
    "yyyy MM W E",
    "yyyy MM F E",
    "k:mm",
    "K a",
    "yyyy w E",
    "yyMMdd",
    "SSS",
    "yyyy-MM-dd HH:mm:ss.SSSSSS",
    "MM/dd/yyyy",
    "LLLL yyyy",
    "dd.MM.yyyy",
)
_DATE_VALUES: Final = {
    "G": ("AD", "BC"),
    "y": ("2024", "24", "1999", "5", "0001", "1582", "-3"),
    "Y": ("2024", "23"),
    "M": ("1", "02", "12", "13", "Jan", "February", "0"),
    "L": ("3", "Mar", "March"),
    "w": ("1", "53", "10"),
    "W": ("1", "5", "0"),
    "D": ("1", "366", "60", "0"),
    "d": ("1", "31", "30", "0", "45"),
    "F": ("1", "5", "-1"),
    "E": ("Mon", "Sunday", "Thu"),
    "u": ("1", "7", "0"),
    "a": ("AM", "PM", "pm"),
    "H": ("0", "23", "24", "7"),
    "k": ("24", "1"),
    "K": ("0", "11", "12"),
    "h": ("12", "1", "13"),
    "m": ("0", "59", "60", "5"),
    "s": ("0", "59", "61"),
    "S": ("0", "5", "50", "999", "123456"),
    "z": ("UTC", "GMT", "GMT+02:00", "EST", "PST", "+0100", "CET"),
    "Z": ("+0000", "-0830", "+01:00", "UTC"),
    "X": ("Z", "+02", "+0230", "+02:30", "-11"),
}
_NUMBER_PARTS: Final = (
    "0",
    "1",
    "9",
    "12",
    "127",
    "128",
    "255",
    "32767",
    "32768",
    "2147483647",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    ".",
    ".5",
    "e",
    "E",
    "e5",
    "E-3",
    "e+400",
    "e-330",
    "-",
    "+",
    "f",
    "d",
    "F",
    "D",
    "L",
    " ",
    "_",
    "0x",
    "0x1p3",
    "NaN",
    "Infinity",
    "\u0663",
    "\t",
    ",",
    "00",
    "000.000",
    "33333333333333333",
    "1.7976931348623157e308",
    "4.9e-324",
    "0.1",
    "1e21",
    "1e7",
    "0.001",
    "\xa0",
    "123456789",
    "3.4028235e38",
    "1.4e-45",
    "𝟙",
    "e99999999999",
)
_PROPERTY_PARTS: Final = (
    "a",
    "b.c",
    "key",
    "=",
    ":",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\\",
    "\\\n",
    "\\n",
    "\\u0041",
    "\\u00e9",
    "\\u12",
    "#",
    "!",
    "é",
    "value",
    "1",
    "\f",
    "\\=",
    "\\:",
    "\\ ",
    "\\t",
    "  ",
    "= ",
    " =",
    "\\\\",
    "\\\r\n",
    "😀",
    "\\uD83D\\uDE00",
    "\\q",
)


def random_pattern(random: Random) -> str:
    """Return a random pattern. Some are malformed."""
    names: list[str] = []
    flags = f"(?{random.choice(_FLAGS)})" if random.random() < 0.25 else ""
    return flags + _alternatives(random, random.choice((1, 2, 2, 3)), names)


def _alternatives(random: Random, depth: int, names: list[str]) -> str:
    count = random.choice((1, 1, 1, 2, 3))
    return "|".join(_sequence(random, depth, names) for _ in range(count))


def _sequence(random: Random, depth: int, names: list[str]) -> str:
    return "".join(_part(random, depth, names) for _ in range(random.choice((0, 1, 1, 2, 2, 3))))


def _part(random: Random, depth: int, names: list[str]) -> str:
    chosen = random.random()
    if chosen < 0.1:
        return random.choice(_EDGES)
    if chosen < 0.3:
        part = f"[{random.choice(('', '', '^'))}{''.join(random.choice(_MEMBERS) for _ in range(random.randint(1, 4)))}]"
    elif chosen < 0.55 and depth > 0:
        part = f"({_opening(random, names)}{_alternatives(random, depth - 1, names)})"
    elif chosen < 0.59:
        part = random.choice(("\\1", "\\2", "\\k<n>", "\\11"))
    else:
        part = random.choice(_ATOMS)
    return part + random.choice(_QUANTIFIERS) if random.random() < 0.3 else part


def _opening(random: Random, names: list[str]) -> str:
    opening = random.choice(("", "", "", "?:", "?:", "?=", "?!", "?<=", "?<!", "?>", "?i:", "?n", f"?{random.choice(_FLAGS)}:"))
    if opening != "?n":
        return opening
    names.append("n")
    return "?<n>" if len(names) == 1 else "?:"


def _subject(random: Random) -> str:
    length = random.choice((0, 1, 2, 3, 5, 8))
    return "".join(random.choice(_ALPHABET[: random.choice((4, 8, 20, 99))]) for _ in range(length))


def regex_case(random: Random) -> dict[str, Any]:
    """Return a pattern with subjects and a replacement."""
    subjects = [_subject(random) for _ in range(12)]
    return {"what": "regex", "pattern": random_pattern(random), "subjects": subjects, "replacement": random.choice(_REPLACEMENTS)}


def dates_case(random: Random) -> dict[str, Any]:
    """Return a pattern of dates with times to write and texts to read."""
    pattern = random.choice(_DATES) if random.random() < 0.6 else _date_pattern(random)
    times = [random.choice((0, -1, 951782400000, random.randint(-(2**47), 2**47), random.randint(0, 2**41))) for _ in range(6)]
    texts = [_mutated(random, text) for text in _date_texts(random, pattern)]
    return {"what": "dates", "pattern": pattern, "times": times, "texts": texts, "century": -725846400000}


def _date_pattern(random: Random) -> str:
    def piece() -> str:
        return random.choice(
            (
                random.choice(_DATE_LETTERS) * random.choice((1, 1, 2, 2, 3, 4, 5)),
                random.choice((" ", "-", ":", "/", "'T'", "''", ".", ",", *_DATE_MALFORMED)),
            )
        )

    return "".join(piece() for _ in range(random.randint(1, 7)))


def _date_texts(random: Random, pattern: str) -> list[str]:
    found = []
    for _ in range(8):
        text, at, quoted = "", 0, False
        while at < len(pattern):
            sign = pattern[at]
            end = at
            while end < len(pattern) and pattern[end] == sign:
                end += 1
            if sign == "'":
                quoted ^= (end - at) % 2 == 1
                text += "'" * ((end - at) // 2)
            elif sign in _DATE_VALUES and not quoted:
                value = random.choice(_DATE_VALUES[sign])
                text += value.zfill(end - at) if value.isdigit() and random.random() < 0.7 else value
            else:
                text += pattern[at:end]
            at = end
        found.append(text)
    return found


def _mutated(random: Random, text: str) -> str:
    if random.random() < 0.6 or not text:
        return text
    at = random.randrange(len(text))
    return random.choice(
        (text[:at], text[:at] + text[at + 1 :], text[:at] + random.choice(" -:0xZ") + text[at:], f" {text}", f"{text} more", text.lower())
    )


def numbers_case(random: Random) -> dict[str, Any]:
    """Return texts that may be numbers."""
    texts = ["".join(random.choice(_NUMBER_PARTS) for _ in range(random.choice((1, 1, 2, 2, 3, 4)))) for _ in range(20)]
    texts += [repr(random.uniform(-1, 1) * 10 ** random.randint(-320, 308)) for _ in range(4)]
    return {"what": "numbers", "texts": texts}


def properties_case(random: Random) -> dict[str, Any]:
    """Return a text of properties."""
    return {"what": "properties", "text": "".join(random.choice(_PROPERTY_PARTS) for _ in range(random.randint(1, 14)))}


def order_case(random: Random) -> dict[str, Any]:
    """Return different keys of a map."""
    keys = {"".join(random.choice(_ALPHABET) for _ in range(random.randint(0, 6))) for _ in range(random.choice((3, 12, 13, 40, 200)))}
    return {"what": "order", "keys": sorted(keys, key=lambda _: random.random())}
