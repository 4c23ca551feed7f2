"""Whether two JSON Schemas allow the same documents, as far as their texts show it."""

from __future__ import annotations

import json
from typing import Any, Final

_NOTES: Final = frozenset({"title", "description", "$schema", "$id", "$comment"})
"""Keywords that allow or refuse nothing (JSON Schema, "A Vocabulary for Basic Meta-Data Annotations")."""
_NAMED: Final = frozenset({"properties", "definitions", "$defs", "patternProperties"})
"""Keywords whose members are schemas by name."""
_SETS: Final = frozenset({"oneOf", "anyOf", "allOf", "required", "enum"})
"""Keywords whose lists have no order."""


def same_documents(one: str, other: str) -> bool:
    """Whether the schemas differ only in annotations, in those of Connect (``connect.*``), and in the order of what has none."""
    return bool(_essence(json.loads(one)) == _essence(json.loads(other)))


def _essence(node: Any) -> Any:
    if isinstance(node, list):
        return [_essence(each) for each in node]
    if not isinstance(node, dict):
        return node
    found: dict[str, Any] = {}
    for name, value in node.items():
        if name in _NOTES or name.startswith("connect."):
            continue
        if name in _NAMED and isinstance(value, dict):
            found[name] = {each: _essence(schema) for each, schema in value.items()}
        elif name in _SETS and isinstance(value, list):
            found[name] = sorted(map(_essence, value), key=lambda each: json.dumps(each, sort_keys=True))
        else:
            found[name] = _essence(value)
    return found
