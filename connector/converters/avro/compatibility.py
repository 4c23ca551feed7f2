"""Whether one Avro schema can read what another writes (Avro specification, "Schema Resolution")."""

from __future__ import annotations

from typing import Any, Final

_PROMOTIONS: Final = {
    "int": {"long", "float", "double"},
    "long": {"float", "double"},
    "float": {"double"},
    "string": {"bytes"},
    "bytes": {"string"},
}


def unreadable(reader: Any, writer: Any) -> str | None:
    """Return why ``reader`` cannot read what ``writer`` writes, in one clause that names fields and types; None where it can."""
    return _Comparison().problem(reader, writer, "", "", "")


class _Comparison:
    """One comparison: named types that are met again within themselves count as readable."""

    def __init__(self) -> None:
        self._reader_types: dict[str, Any] = {}
        self._writer_types: dict[str, Any] = {}
        self._met: set[tuple[str, str]] = set()

    def problem(self, reader: Any, writer: Any, reader_space: str, writer_space: str, place: str) -> str | None:
        """The same for parts of the schemas, in these namespaces; ``place`` is the field's path."""
        reader, reader_space = _resolved(reader, reader_space, self._reader_types)
        writer, writer_space = _resolved(writer, writer_space, self._writer_types)
        if isinstance(writer, list):
            problems = (self.problem(reader, branch, reader_space, writer_space, place) for branch in writer)
            return next((problem for problem in problems if problem), None)
        if isinstance(reader, list):
            problems = (self.problem(branch, writer, reader_space, writer_space, place) for branch in reader)
            return None if any(problem is None for problem in problems) else f"it has no branch for {_kind(writer)}{_at(place)}"
        kinds = _kind(reader), _kind(writer)
        if kinds[0] != kinds[1]:
            return None if kinds[0] in _PROMOTIONS.get(kinds[1], ()) else f"{kinds[0]} cannot read {kinds[1]}{_at(place)}"
        match kinds[0]:
            case "record":
                return self._records(reader, writer, reader_space, writer_space, place)
            case "array" | "map":
                part = "items" if kinds[0] == "array" else "values"
                return self.problem(reader[part], writer[part], reader_space, writer_space, f"{place}[]")
            case "enum":
                missing = sorted(set(writer["symbols"]) - set(reader["symbols"]))
                return f"its enum lacks {', '.join(missing)}{_at(place)}" if missing and "default" not in reader else None
            case "fixed":
                return f"the sizes differ{_at(place)}" if reader["size"] != writer["size"] else None
            case _:
                return None

    def _records(self, reader: Any, writer: Any, reader_space: str, writer_space: str, place: str) -> str | None:
        if reader["name"].rpartition(".")[2] != writer["name"].rpartition(".")[2]:
            return f"the record {reader['name']} is not {writer['name']}{_at(place)}"
        pair = (f"{reader_space}.{reader['name']}", f"{writer_space}.{writer['name']}")
        if pair in self._met:
            return None
        self._met.add(pair)
        written = {field["name"]: field for field in writer["fields"]}
        for field in reader["fields"]:
            inner = f"{place}.{field['name']}" if place else field["name"]
            other = next((written[name] for name in (field["name"], *field.get("aliases", ())) if name in written), None)
            if other is None:
                if "default" not in field:
                    return f"its field {inner} has no default, and the record lacks it"
            elif problem := self.problem(field["type"], other["type"], reader_space, writer_space, inner):
                return problem
        return None


def _resolved(schema: Any, space: str, types: dict[str, Any]) -> tuple[Any, str]:
    """Return the definition that a name refers to, and its namespace; definitions are remembered."""
    if isinstance(schema, str):
        found = types.get(schema if "." in schema else f"{space}.{schema}") or types.get(schema)
        return (schema, space) if found is None else found
    if isinstance(schema, dict) and "name" in schema:
        name = schema["name"]
        own = name.rpartition(".")[0] if "." in name else schema.get("namespace", space)
        types[f"{own}.{name.rpartition('.')[2]}"] = (schema, own)
        return schema, own
    return schema, space


def _kind(schema: Any) -> str:
    return schema["type"] if isinstance(schema, dict) and isinstance(schema["type"], str) else str(schema)


def _at(place: str) -> str:
    return f" in the field {place}" if place else ""
