"""The differences that docs/differences.md describes, so that a run reports the others."""

from __future__ import annotations

import re
from typing import Any, Final

_TLS: Final = re.compile(r"SSL|sslmode|certificate|key ?store", re.IGNORECASE)
_OF_JAVA: Final = re.compile(r"Class (class|interface) (java\.|\[|\S*\.(Transformation|Converter) )")
_LOADED_CLASSES: Final = ("sourceinfo.struct.maker ", "transaction.metadata.factory ")
_UNREADABLE_RANGE: Final = re.compile(r"Unbounded range|defies version ordering|Ranges overlap|must be surrounded|fully-qualified sets")


def is_intended(where: str, theirs: Any, ours: Any) -> bool:
    """Whether a difference of two validations is documented, or belongs to Java alone."""
    if where == "answer":
        return _is_intended_answer(theirs, ours)
    left, right = str(theirs), str(ours)
    return (
        where == "connector.plugin.version value.recommended_values"
        # Versions.
        or (where.startswith("connector.") and "available versions: [2.3.4.Final, 3.6.3.Final, 3.7.0.Final]" in right)
        or ("Invalid version specification" in right and bool(_UNREADABLE_RANGE.search(left)))
        # Errors of TLS belong to the properties that choose it; libpq has other settings than pgjdbc.
        or (where.startswith("database.") and bool(_TLS.search(left) or _TLS.search(right)))
        or (where == "database.hostname value.errors" and re.search("parameter value must be|Unable to parse URL", left) is not None)
        or (where == "database.hostname value.errors" and "FATAL: database" in left and "FATAL: database" in right)
        # A colon makes a name that of a class in Python.
        or (isinstance(ours, str) and ":" in ours and theirs is None)
        or (":" in left and "could not be found" in left and ours == [])
        # Java's own classes, and those that are no plugins.
        or ("could not be found" in right and bool(_OF_JAVA.search(left)))
        or (where.startswith(_LOADED_CLASSES) and "Java classes cannot be loaded" in right)
        # A JVM leaves the text of a NullPointerException out after many of them.
        or ("Invalid regex: null" in left and "Cannot invoke" in right)
    )


def _is_intended_answer(theirs: Any, ours: Any) -> bool:
    (status, body), (own_status, own_body) = theirs, ours
    message, own_message = _message(body), _message(own_body)
    if "contains no connector type" in message:
        # The order of a hash table, and secrets.
        return status == own_status and "contains no connector type" in own_message
    if status == 500 and own_status == 400:
        return "Cannot deserialize value" in message and "is a JSON" in own_message
    # Properties of which Java's own exceptions are shown.
    return status == 500 and own_status == 200 and bool(re.search(r"Exception|Error:|Unable to find class|Cannot invoke", message))


def _message(body: Any) -> str:
    return str(body.get("message", "")) if isinstance(body, dict) else str(body)
