"""A row as commands in the CUD format (create, update, delete) of the Neo4j sink connector, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from connector.record.json_converter import json_text
from connector.record.schema import Schema
from connector.record.struct import field_of, get
from connector.transforms.debezium.neo4j.column_value import column_json
from connector.transforms.debezium.neo4j.mapping import Operation, Relationship, TableMapping

Missing = Callable[[str, str], None]
"""``missing(problem, consequence)``: a column that the mapping names is not there. It may raise DataError."""

_NONE: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Row:
    """An image of a row."""

    schema: Schema
    values: Mapping[str, Any]

    def has(self, column: str) -> bool:
        """Whether the row has the column."""
        return field_of(self.schema, column) is not None

    def json(self, columns: Iterable[str]) -> dict[str, str]:
        """Return those of the columns that are there and not null, each as JSON. Raises DataError."""
        found = {}
        for column in columns:
            field = field_of(self.schema, column)
            value = None if field is None else get(self.schema, self.values, column)
            if field is not None and value is not None:
                found[column] = column_json(field.schema, value)
        return found

    @property
    def columns(self) -> Iterator[str]:
        """The names of all columns."""
        return (field.name for field in self.schema.fields)


def commands(row: Row, operation: Operation, mapping: TableMapping, missing: Missing, *, several: bool) -> list[str]:
    """Return the commands that a row becomes, none for a row that is left out. Raises DataError.

    ``several`` says that a record may have more than one: then a relationship's ends are made before it.
    """
    if mapping.is_node:
        return _of_node(row, operation, mapping, missing)
    return _of_relationship(row, operation, mapping, missing, several=several)


def _of_node(row: Row, operation: Operation, mapping: TableMapping, missing: Missing) -> list[str]:
    ids = row.json(mapping.ids)
    if not _is_key(ids, operation, mapping, missing):
        return []
    if operation == "delete":
        return [_node(operation, mapping.labels, ids, detach=mapping.detaches)]
    outside = mapping.references | mapping.excluded | set(mapping.ids)
    kept = (name for name in row.columns if name not in outside and (not mapping.included or name in mapping.included))
    found = [_node(operation, mapping.labels, ids, row.json(kept))]
    for each in mapping.relationships:
        value = row.json((each.column,)).get(each.column)
        if value is not None:
            own = _endpoint(mapping.labels, ids, "merge")
            other = _endpoint((each.target_label,), {each.target_id: value}, each.target_operation)
            ends = (other, own) if each.direction == "incoming" else (own, other)
            found.append(_relationship(operation, each.type, *ends, row.json(each.properties)))
        elif not row.has(each.column):
            missing(f"column {each.column}, to which relationship {each.type} refers, is not there", "the relationship is left out")
    return found


def _is_key(ids: Mapping[str, str], operation: Operation, mapping: TableMapping, missing: Missing) -> bool:
    """Whether a node can be found by ``ids``. A merge by a part of the key would make one node of several rows."""
    if len(ids) == len(mapping.ids):
        return True
    wanted = ", ".join(mapping.ids)
    if not ids:
        missing(f"none of the columns {wanted} (node.id.properties) has a value", "the row is left out")
        return False
    problem = f"only {', '.join(ids)} of the columns {wanted} (node.id.properties) have values"
    if operation == "delete":
        missing(problem, "the delete may match several nodes")
        return True
    missing(problem, "the row is left out")
    return False


def _of_relationship(row: Row, operation: Operation, mapping: TableMapping, missing: Missing, *, several: bool) -> list[str]:
    ends = mapping.endpoint("outgoing"), mapping.endpoint("incoming")
    values = row.json(end.column for end in ends)
    for end in ends:
        if end.column not in values and not row.has(end.column):
            missing(f"column {end.column}, which an end of relationship {ends[0].type} needs, is not there", "the row is left out")
            return []
    if any(end.column not in values for end in ends):
        return []
    nodes = [((end.target_label,), {end.target_id: values[end.column]}) for end in ends]
    found = []
    if several and operation != "delete":
        found = [_node("merge", *node, _NONE) for node in nodes]
    first, second = (_endpoint(*node, "match" if several else "merge") for node in nodes)
    properties = None if operation == "delete" else row.json(_own_columns(row, mapping.references, ends[0]))
    return [*found, _relationship(operation, ends[0].type, first, second, properties)]


def _own_columns(row: Row, references: Collection[str], relationship: Relationship) -> Iterator[str]:
    """The columns that become properties of a relationship that a row describes."""
    listed = relationship.properties
    return (name for name in row.columns if name not in references and (not listed or name in listed))


def _node(
    operation: Operation,
    labels: Iterable[str],
    ids: Mapping[str, str],
    properties: Mapping[str, str] | None = None,
    *,
    detach: bool | None = None,
) -> str:
    more = "" if properties is None else f',"properties":{_members(properties)}'
    more += "" if detach is None else f',"detach":{"true" if detach else "false"}'
    return f'{{"type":"node","op":"{operation}","labels":{_texts(labels)},"ids":{_members(ids)}{more}}}'


def _relationship(operation: Operation, kind: str, first: str, second: str, properties: Mapping[str, str] | None) -> str:
    more = "" if properties is None else f',"properties":{_members(properties)}'
    return f'{{"type":"relationship","op":"{operation}","rel_type":{json_text(kind)},"from":{first},"to":{second}{more}}}'


def _endpoint(labels: Iterable[str], ids: Mapping[str, str], operation: Operation) -> str:
    return f'{{"labels":{_texts(labels)},"ids":{_members(ids)},"op":"{operation}"}}'


def _texts(texts: Iterable[str]) -> str:
    return f"[{','.join(json_text(text) for text in texts)}]"


def _members(members: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{json_text(name)}:{value}" for name, value in members.items()) + "}"
