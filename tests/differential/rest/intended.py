"""The differences that docs/differences.md describes, so that a run reports the others."""

from __future__ import annotations

import re
from typing import Any, Final

_TLS: Final = re.compile(r"SSL|sslmode|certificate|key ?store", re.IGNORECASE)
_OF_TLS: Final = {f"database.{name}" for name in ("hostname", "sslmode", "sslrootcert", "sslcert", "sslkey")}
_OF_JAVA: Final = re.compile(r"Class (class|interface) (java\.|\[|\S*\.(Transformation|Converter) )")
_LOADED_CLASSES: Final = ("sourceinfo.struct.maker", "transaction.metadata.factory")
_UNREADABLE_RANGE: Final = re.compile(r"Unbounded range|defies version ordering|Ranges overlap|must be surrounded|fully-qualified sets")


def is_intended(where: str, theirs: Any, ours: Any) -> bool:
    """Whether a difference of two validations is documented, or belongs to Java alone."""
    if where == "answer":
        return _is_intended_answer(theirs, ours)
    name, _, member = where.rpartition(" ")
    if member == "value.recommended_values":
        return name == "connector.plugin.version"
    if member == "value.value":
        # A colon makes a name that of a class in Python.
        return theirs is None and isinstance(ours, str) and ":" in ours
    return member == "value.errors" and _are_intended_errors(name, str(theirs), str(ours))


def _are_intended_errors(name: str, theirs: str, ours: str) -> bool:
    return (
        # Versions.
        (name.startswith("connector.") and "available versions: [2.3.4.Final, 3.6.3.Final, 3.7.0.Final]" in ours)
        or ("Invalid version specification" in ours and bool(_UNREADABLE_RANGE.search(theirs)))
        # Errors of TLS belong to the properties that choose it; libpq has other settings than pgjdbc.
        or (name in _OF_TLS and bool(_TLS.search(theirs) or _TLS.search(ours)))
        or (name == "database.hostname" and re.search("parameter value must be|Unable to parse URL", theirs) is not None)
        or (name == "database.hostname" and "FATAL: database" in theirs and "FATAL: database" in ours)
        # A colon makes a name that of a class in Python.
        or (":" in theirs and "could not be found" in theirs and ours == "[]")
        # Java's own classes, and those that are no plugins.
        or ("could not be found" in ours and bool(_OF_JAVA.search(theirs)))
        or (name in _LOADED_CLASSES and "Java classes cannot be loaded" in ours)
        # A JVM leaves the text of a NullPointerException out after many of them.
        or ("Invalid regex: null" in theirs and "Cannot invoke" in ours)
    )


def _is_intended_answer(theirs: Any, ours: Any) -> bool:
    (status, body), (own_status, own_body) = theirs, ours
    message, own_message = _message(body), _message(own_body)
    if "contains no connector type" in message:
        # The order of a hash table, and secrets.
        return status == own_status and "contains no connector type" in own_message
    if status == 500 and own_status == 400:
        return "Cannot deserialize value" in message and "is a JSON" in own_message
    if status != 500 or own_status != 200 or not re.search(r"Exception|Error:|Unable to find class|Cannot invoke", message):
        return False
    # Properties of which Java's own exceptions are shown have errors here; entries that are only a separator may have no effect.
    return own_body["error_count"] > 0 or "IndexOutOfBoundsException" in message


def _message(body: Any) -> str:
    return str(body.get("message", "")) if isinstance(body, dict) else str(body)
