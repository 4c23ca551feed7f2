"""Matchers of names against the patterns of a property (Java's regular expressions, each for a whole name).

RE2 matches in time linear to the name. The caller provides a :class:`connector.ports.Backtracking` for patterns that RE2 cannot match
(lookaround, back references, possessive quantifiers). Such a match may take hours, so it has a time limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import re2

from connector.errors import CdcError, ErrorKind
from connector.java.regex.findings import Malformed, Unsupported
from connector.java.regex.translation import Translation, backtracking, too_long, translate
from connector.ports import Backtracking, OutOfTimeError, no_backtracking

_Program = Callable[[bytes], object]
"""Returns a value other than None if it matches a name (UTF-8)."""

_KNOWN: Final = 100_000
"""The number of cached results. There are fewer names of tables and columns; prefixes of messages are unlimited."""
_MOST_SHOWN: Final = 100
"""The number of characters of a pattern that an error quotes."""
_PLAIN: Final = re.compile(r"\w+\\?\.\w+")
"""Matches a pattern that is a name with one dot. Of names with a dot, such a pattern matches only this one."""
_CHUNK: Final = 131_072
"""The number of characters that are compiled into one program. RE2 limits the memory of each to 8 MiB, which this is far below."""


Matcher = Callable[[str], bool]
"""Returns whether a name matches."""


@dataclass(frozen=True, slots=True)
class LongForm:
    """Names that begin with the database: ``database.schema.table`` (2 dots) or ``database.schema.table.column`` (3 dots).

    Debezium's documentation of 1.x has this form, but its connector does not match it. Here a pattern is also matched with such names if
    every name that it matches has at least ``dots`` dots (:func:`connector.java.regex.tree.dots`). If its dots are escaped, it can match no
    short name, so in Debezium it matches nothing.
    """

    database: str
    dots: int


class NameMatcher:
    """Returns True for a name that any of the patterns matches as a whole.

    ``key`` is the property's name for errors. Construction raises CdcError(CONFIG_INVALID) for a pattern that is malformed, too large or
    not supported. A call raises it for a pattern that takes too long.
    """

    def __init__(
        self,
        patterns: Iterable[str],
        key: str,
        *,
        long_form: LongForm | None = None,
        ignore_case: bool = True,
        backtrack: Backtracking = no_backtracking,
    ) -> None:
        listed = list(patterns)
        if (too_much := too_long(listed)) is not None:
            raise CdcError(ErrorKind.CONFIG_INVALID, f"Property {key} is too large: {too_much}")
        self._key = key
        self._long_form = long_form
        self._ignore_case = ignore_case
        self._backtrack = backtrack
        self._known: dict[str, bool] = {}
        self._failed: CdcError | None = None
        self._patterns = [_translated(pattern, key, ignore_case=ignore_case) for pattern in listed]
        self._whole = self._group(self._patterns)

    def __call__(self, name: str) -> bool:
        """Return whether the name matches. Results are cached."""
        found = self._known.get(name)
        if found is None:
            self.learn([name])
            found = self._known[name]
        return found

    def learn(self, names: Iterable[str]) -> None:
        """Match many names at once, which is faster where patterns need a backtracking engine."""
        if self._failed is not None:
            raise self._failed
        if len(self._known) > _KNOWN:
            self._known.clear()
        new = [name for name in dict.fromkeys(names) if name not in self._known]
        try:
            matched = self._whole.matched(new)
        except CdcError as error:
            # The next name would take as long, and the task may match many names.
            self._failed = error
            raise
        self._known.update((name, name in matched) for name in new)

    def unused(self, names: Sequence[str]) -> list[str]:
        """Return the patterns that match none of ``names``, in their order."""
        self.learn(names)
        matched = [name for name in names if self._known[name]]
        # A pattern that is a plain name needs no engine; there may be thousands of them.
        literal = set(matched)
        asked = [at for at, pattern in enumerate(self._patterns) if pattern.source.replace("\\.", ".") not in literal]
        return [self._patterns[at].source for at in self._unused(asked, matched)] if asked else []

    def first(self, names: Iterable[str]) -> dict[str, int]:
        """Return the number of the first pattern that matches, for each name that one matches. The names have a dot (schema.table)."""
        listed = list(dict.fromkeys(names))
        plain: dict[str, int] = {}
        others: list[int] = []
        for at, pattern in enumerate(self._patterns):
            # There may be thousands of plain names, each of which would be compiled many times below.
            if _PLAIN.fullmatch(pattern.source):
                plain.setdefault(pattern.source.replace("\\.", ".").lower(), at)
            else:
                others.append(at)
        found = {name: plain[name.lower()] for name in listed if name.lower() in plain}
        for name, at in self._first(others, listed):
            found[name] = min(at, found.get(name, at))
        return found

    def _first(self, places: Sequence[int], names: Sequence[str]) -> Iterator[tuple[str, int]]:
        if not places or not names:
            return
        matched = self._group([self._patterns[at] for at in places]).matched(names)
        within = [name for name in names if name in matched]
        if len(places) == 1 or not within:
            yield from ((name, places[0]) for name in within)
            return
        half = len(places) // 2
        earlier = dict(self._first(places[:half], within))
        yield from earlier.items()
        yield from self._first(places[half:], [name for name in within if name not in earlier])

    def _unused(self, places: Sequence[int], names: Sequence[str]) -> Iterator[int]:
        # Bisect, so that each of thousands of patterns is matched with few names.
        matched = self._group([self._patterns[at] for at in places]).matched(names)
        if not matched:
            yield from places
        elif len(places) > 1:
            left = [name for name in names if name in matched]
            yield from self._unused(places[: len(places) // 2], left)
            yield from self._unused(places[len(places) // 2 :], left)

    def _group(self, patterns: Sequence[Translation]) -> _Group:
        return _Group(patterns, self._key, self._long_form, self._backtrack, ignore_case=self._ignore_case)


def matcher(patterns: Iterable[str], key: str, backtrack: Backtracking = no_backtracking) -> NameMatcher:
    """Return a matcher that ignores the case of ASCII letters, as Debezium's lists do."""
    return NameMatcher(patterns, key, backtrack=backtrack)


def include_exclude(
    include: Iterable[str],
    exclude: Iterable[str],
    key: str,
    *,
    long_form: LongForm | None = None,
    backtrack: Backtracking = no_backtracking,
) -> IncludeExclude:
    """Return the matcher of the properties ``<key>.include.list`` and ``<key>.exclude.list``."""
    include, exclude = tuple(include), tuple(exclude)
    side, listed = ("include", include) if include else ("exclude", exclude)
    return IncludeExclude(NameMatcher(listed, f"{key}.{side}.list", long_form=long_form, backtrack=backtrack), includes=bool(include))


@dataclass(frozen=True, slots=True)
class IncludeExclude:
    """Matches what an include list matches, or what an exclude list does not match; everything if both are empty."""

    listed: NameMatcher
    includes: bool

    def __call__(self, name: str) -> bool:
        """Return whether the name is selected."""
        return self.listed(name) is self.includes


class _Group:
    """Some patterns of one property, compiled together."""

    def __init__(
        self, patterns: Sequence[Translation], key: str, long_form: LongForm | None, backtrack: Backtracking, *, ignore_case: bool
    ) -> None:
        self._key = key
        self._backtrack = backtrack
        self._database = f"{long_form.database}." if long_form is not None else ""
        long = [pattern for pattern in patterns if long_form is not None and long_form.database and pattern.dots >= long_form.dots]
        self._short_programs, self._short_rest = _compiled(patterns, ignore_case=ignore_case)
        self._long_programs, self._long_rest = _compiled(long, ignore_case=ignore_case)

    def matched(self, names: Sequence[str]) -> set[str]:
        """Return those of ``names`` that any pattern matches."""
        found = set()
        for name in names:
            # If a server's encoding is unknown, a name may hold bytes that are not text. RE2 matches no such name.
            short = name.encode(errors="surrogatepass")
            if any(program(short) for program in self._short_programs):
                found.add(name)
            elif self._long_programs:
                long = (self._database + name).encode(errors="surrogatepass")
                if any(program(long) for program in self._long_programs):
                    found.add(name)
        for rest, before in ((self._short_rest, ""), (self._long_rest, self._database)):
            left = [name for name in names if name not in found] if rest else []
            if left:
                found.update(left[at] for places in self._backtracked(rest, [before + name for name in left]) for at in places)
        return found

    def _backtracked(self, patterns: Sequence[Translation], names: Sequence[str]) -> Sequence[Sequence[int]]:
        try:
            return self._backtrack([pattern.text for pattern in patterns], names)
        except OutOfTimeError as error:
            raise CdcError(
                ErrorKind.CONFIG_INVALID,
                f"Property {self._key} holds {patterns[error.pattern].source!r}, which takes too long to match",
                "Write it without lookaround, back references and possessive quantifiers, or without repetitions inside repetitions",
            ) from None


def _compiled(patterns: Sequence[Translation], *, ignore_case: bool) -> tuple[list[_Program], list[Translation]]:
    """Return RE2's programs for the linear ``patterns``, and the patterns that RE2 cannot match."""
    programs: list[_Program] = []
    rest = [pattern for pattern in patterns if not pattern.linear]
    chunk: list[Translation] = []
    size = 0
    for pattern in [*(pattern for pattern in patterns if pattern.linear), None]:
        if chunk and (pattern is None or size + len(pattern.text) > _CHUNK):
            taken, refused = _programs(chunk)
            programs += taken
            rest += [backtracking(one, ignore_case=ignore_case) for one in refused]
            chunk, size = [], 0
        if pattern is not None:
            chunk.append(pattern)
            size += len(pattern.text)
    return programs, rest


def _programs(patterns: Sequence[Translation]) -> tuple[list[_Program], list[Translation]]:
    """Return one program for all of ``patterns``, or one for each if together they are too large, and the patterns that RE2 refuses."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        return [re2.compile("|".join(f"(?:{pattern.text})" for pattern in patterns).encode(), options).fullmatch], []
    except re2.error:
        if len(patterns) == 1:
            return [], list(patterns)
    finally:
        # The module would cache the last 128 programs, of up to 8 MiB each.
        re2.purge()
    parts = [_programs([pattern]) for pattern in patterns]
    return [program for programs, _ in parts for program in programs], [pattern for _, refused in parts for pattern in refused]


def _translated(pattern: str, key: str, *, ignore_case: bool) -> Translation:
    # Shorten the pattern, so that a truncated log line still contains the reason.
    shown = pattern if len(pattern) <= _MOST_SHOWN else f"{pattern[:_MOST_SHOWN]}…"
    try:
        return translate(pattern, ignore_case=ignore_case)
    except Malformed as error:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Property {key} holds {shown!r}, which is no regular expression: {error.what}",
            "Escape the character meant literally with a backslash",
        ) from error
    except Unsupported as error:
        raise CdcError(ErrorKind.CONFIG_INVALID, f"Property {key} holds {shown!r}, which cannot be matched: {error}") from error
