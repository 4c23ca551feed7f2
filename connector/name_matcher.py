"""Decides which names the patterns of a property match (Java's regular expressions, each for a whole name).

RE2 decides in time linear to the name. What it cannot match (lookaround, back references, possessive quantifiers) is given to a
:class:`connector.ports.Backtracking`, which the edge brings: such a pattern may take hours, so that it must be given up in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import re2

from connector.errors import CdcError, ErrorKind
from connector.java_regex.findings import Malformed, Unsupported
from connector.java_regex.translation import Translation, backtracking, too_long, translate
from connector.ports import Backtracking, OutOfTimeError, no_backtracking

_Program = Callable[[bytes], object]
"""Not None for a name (UTF-8) that is matched."""

_KNOWN: Final = 100_000
"""How many answers are remembered. Names of tables and columns are fewer; prefixes of messages may be without end."""
_MOST_SHOWN: Final = 100
"""Characters of a pattern that an error quotes."""
_CHUNK: Final = 131_072
"""How much text is compiled into one program: well below the memory that RE2 allows itself for each (8 MiB)."""


Matcher = Callable[[str], bool]
"""Whether a name is matched."""


@dataclass(frozen=True, slots=True)
class LongForm:
    """Names that begin with the database: ``database.schema.table`` (2 dots) or ``database.schema.table.column`` (3 dots).

    Debezium's documentation of 1.x has this form, and its connector does not match it. A pattern is matched with such names too when
    every name that it matches has as many ``dots`` (:func:`connector.java_regex.tree.dots`). With escaped dots it can match no short name
    then, so that it matches nothing in the reference.
    """

    database: str
    dots: int


class NameMatcher:
    """True for a name that any of the patterns matches as a whole.

    ``key`` is the property, for errors. CdcError(CONFIG_INVALID) for a pattern that is malformed, too large or not supported when it is
    made, and for one that takes too long when it is asked.
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
        """Whether the name is matched. Answers are remembered."""
        found = self._known.get(name)
        if found is None:
            self.learn([name])
            found = self._known[name]
        return found

    def learn(self, names: Iterable[str]) -> None:
        """Decide many names at once, which is faster where backtracking is needed."""
        if self._failed is not None:
            raise self._failed
        if len(self._known) > _KNOWN:
            self._known.clear()
        new = [name for name in dict.fromkeys(names) if name not in self._known]
        try:
            matched = self._whole.matched(new)
        except CdcError as error:
            # The next name would take as long, and the task may be asked for many.
            self._failed = error
            raise
        self._known.update((name, name in matched) for name in new)

    def unused(self, names: Sequence[str]) -> list[str]:
        """The patterns that match none of ``names``, in their order."""
        self.learn(names)
        matched = [name for name in names if self._known[name]]
        # Thousands of plain names are no work for an engine.
        literal = set(matched)
        asked = [at for at, pattern in enumerate(self._patterns) if pattern.source.replace("\\.", ".") not in literal]
        return [self._patterns[at].source for at in self._unused(asked, matched)] if asked else []

    def _unused(self, places: Sequence[int], names: Sequence[str]) -> Iterator[int]:
        # By halves, so that of thousands of patterns each is asked about a few names only.
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
    """Without regard to the case of ASCII's letters, as Debezium compiles its lists."""
    return NameMatcher(patterns, key, backtrack=backtrack)


def include_exclude(
    include: Iterable[str],
    exclude: Iterable[str],
    key: str,
    *,
    long_form: LongForm | None = None,
    backtrack: Backtracking = no_backtracking,
) -> IncludeExclude:
    """Of the properties ``<key>.include.list`` and ``<key>.exclude.list``."""
    include, exclude = tuple(include), tuple(exclude)
    side, listed = ("include", include) if include else ("exclude", exclude)
    return IncludeExclude(NameMatcher(listed, f"{key}.{side}.list", long_form=long_form, backtrack=backtrack), includes=bool(include))


@dataclass(frozen=True, slots=True)
class IncludeExclude:
    """What the patterns of an include list match, or those of an exclude list do not; everything where both are empty."""

    listed: NameMatcher
    includes: bool

    def __call__(self, name: str) -> bool:
        """Whether the name is in."""
        return self.listed(name) is self.includes


class _Group:
    """Some patterns of one property."""

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
        """Those of ``names`` that any pattern matches."""
        found = set()
        for name in names:
            # Where a server's encoding is unknown, a name may hold bytes that are no text; RE2 matches no such name.
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
    """Programs of RE2 that match what the linear ``patterns`` match, and the patterns that RE2 cannot match."""
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
    """One program for all of ``patterns``, or one for each where they are too large for one; and those that RE2 refuses."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        return [re2.compile("|".join(f"(?:{pattern.text})" for pattern in patterns).encode(), options).fullmatch], []
    except re2.error:
        if len(patterns) == 1:
            return [], list(patterns)
    finally:
        # The module would keep the last 128 programs, of up to 8 MiB each.
        re2.purge()
    parts = [_programs([pattern]) for pattern in patterns]
    return [program for programs, _ in parts for program in programs], [pattern for _, refused in parts for pattern in refused]


def _translated(pattern: str, key: str, *, ignore_case: bool) -> Translation:
    # Short, so that a log line that is cut still gives the reason.
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
