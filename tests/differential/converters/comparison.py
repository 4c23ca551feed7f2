"""Whether the answers of both sides are the same: bytes, registered schemas, and which records fail."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from typing import Any, Final

_REFUSED: Final = (
    "Two types with the name",
    "has other fields than the first schema of this name",
    "as a whole key or value",
    "Array cannot be nested",
)
_BROKEN: Final = ("java.lang.NullPointerException", "java.lang.IndexOutOfBoundsException", "Repeated fields cannot have default values")


def difference(values: Sequence[Any], own: dict[str, Any], original: dict[str, Any]) -> str | None:
    """Return what differs for these values, beginning with its kind and a colon; None where nothing does. Texts of errors may differ."""
    if "failed" in original:
        return f"failed: {original['failed']['text']}"
    if ("refused" in own) != ("refused" in original):
        return f"refused: own {own.get('refused')!r}, original {original.get('refused')}"
    if "refused" in own:
        return None
    failed = any("error" in each for each in [*own["answers"], *original["answers"]])
    for value, one, other in zip(values, own["answers"], original["answers"], strict=True):
        if "impossible" in other:
            return f"impossible: {other['impossible']['text']}"
        if "crash" in one:
            return f"crash: {one['crash']}; original {_shown(other)}"
        if "error" in one or "error" in other:
            if ("error" in one) != ("error" in other) and not is_known(value, one, other):
                return f"{'own' if 'error' in one else 'original'} fails: own {one}, original {_shown(other)}"
            continue
        pair = one["bytes"], _bytes(other)
        # The id of a schema depends on the schemas that failed records registered.
        same = map(_without_id, pair) if failed else pair
        if len(set(same)) > 1:
            return f"bytes: {first_difference(*pair)}"
        if one["headers"] != (sent := [(name, None if held is None else b64decode(held)) for name, held in other["headers"]]):
            return f"headers: {first_difference(one['headers'], sent)}"
    if not failed and "registered" in original:
        return _registered(own["registered"], original["registered"])
    return None


def is_known(value: Any, own: dict[str, Any], original: dict[str, Any]) -> bool:
    """Whether only one side fails where that is intended (``docs/differences.md``): names of two contents,
    values that consumers could not read, crashes of Java."""
    if "error" in own:
        return any(words in own["error"] for words in _REFUSED)
    # A null needs no schema here.
    return any(words in original["text"] for words in _BROKEN) or (value is None and own["bytes"] is None)


def _registered(own: list[dict[str, Any]], original: list[dict[str, Any]]) -> str | None:
    ordered = sorted(own, key=lambda each: (each["subject"], each["id"]))
    theirs = sorted(original, key=lambda each: (each["subject"], each["id"]))
    if len(ordered) != len(theirs):
        return f"registered count: own {ordered}, original {theirs}"
    for one, other in zip(ordered, theirs, strict=True):
        for name in one:
            if one[name] != other[name]:
                return f"registered {name}: {first_difference(one[name], other[name])}"
    return None


def first_difference(own: Any, original: Any) -> str:
    """The places around the first difference of two texts or bytes; other values as they are."""
    if not (isinstance(own, (str, bytes)) and isinstance(original, (str, bytes))):
        return f"\n    own      {own!r}\n    original {original!r}"
    pairs = enumerate(zip(own, original, strict=False))
    begin = max(next((place for place, (one, other) in pairs if one != other), min(len(own), len(original))) - 60, 0)
    return f"from {begin}\n    own      {own[begin : begin + 300]!r}\n    original {original[begin : begin + 300]!r}"


def _without_id(found: bytes | None) -> bytes | None:
    """The bytes after the magic byte and the id of a schema, which JSON does not have."""
    return found[5:] if found is not None and found.startswith(b"\0") else found


def _bytes(answer: dict[str, Any]) -> bytes | None:
    # Only the Java client knows the scheme mock, and CloudEvents hold the registry's address.
    return None if answer["bytes"] is None else b64decode(answer["bytes"]).replace(b"mock://", b"http://")


def _shown(answer: dict[str, Any]) -> Any:
    return answer["text"] if "error" in answer else _bytes(answer)
