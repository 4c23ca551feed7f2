"""What ``Neo4jCudConverter`` makes of each table: a node with relationships, or a relationship (options ``table.<name>.…``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NoReturn

from connector.configdef.options import OptionError, Options
from connector.java.hash_map import java_order

TABLES: Final = "table."
_RELATIONSHIPS: Final = "relationship."
_NODE_OPTIONS: Final = frozenset(
    {
        "node.mode",
        "node.labels",
        "node.id.properties",
        "node.properties.include",
        "node.properties.exclude",
        "node.delete.detach",
    }
)
_RELATIONSHIP_OPTIONS: Final = frozenset({"type", "direction", "target.label", "target.id", "target.node.op", "properties"})
_ENDPOINTS: Final = 2

Operation = Literal["merge", "match", "delete"]
_OPERATIONS: Final[Mapping[str, Operation]] = {"merge": "merge", "match": "match", "delete": "delete"}
Direction = Literal["outgoing", "incoming"]


@dataclass(frozen=True, slots=True)
class Relationship:
    """A relationship that the column ``column`` refers by: to the node with ``target_label`` whose ``target_id`` is the column's value."""

    column: str
    type: str
    direction: Direction
    target_label: str
    target_id: str
    target_operation: Operation
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableMapping:
    """One table. With ``is_node`` its rows are nodes; else they are relationships between the targets of two :attr:`relationships`."""

    table: str
    is_node: bool
    labels: tuple[str, ...]
    ids: tuple[str, ...]
    included: frozenset[str]
    """Names of the columns that become properties; empty: all."""
    excluded: frozenset[str]
    detaches: bool
    """Whether a deleted node loses its relationships with it."""
    relationships: tuple[Relationship, ...]

    @property
    def references(self) -> frozenset[str]:
        """The columns that relationships refer by."""
        return frozenset(each.column for each in self.relationships)

    def endpoint(self, direction: Direction) -> Relationship:
        """The relationship of this direction of a table whose rows are relationships."""
        return next(each for each in self.relationships if each.direction == direction)


def mappings_of(options: Options) -> dict[str, TableMapping]:
    """Return each table's mapping, by its name without the schema. Raises OptionError."""
    found = options.under(TABLES)
    # The original reads the options out of a HashMap, and the relationships of a row are written in the order in which it finds them.
    grouped = _grouped((name, found[name.removeprefix(TABLES)]) for name in java_order(options.raw) if name.startswith(TABLES))
    if not grouped:
        _refuse("table.<table_name>.*", "Set a mapping for at least one table, for example table.<table_name>.node.id.properties")
    return {table: _mapping(table, own) for table, own in grouped.items()}


def _grouped(options: Iterable[tuple[str, str]]) -> dict[str, dict[str, str]]:
    """Options ``prefix.first.rest`` by ``first``, and by ``rest`` below it."""
    grouped: dict[str, dict[str, str]] = {}
    for name, value in options:
        first, dot, rest = name.partition(".")[2].partition(".")
        if dot:
            grouped.setdefault(first, {})[rest] = value
    return grouped


def _mapping(table: str, own: Mapping[str, str]) -> TableMapping:
    prefix = f"{TABLES}{table}."
    for name in own:
        if not _is_known(name):
            _refuse(prefix + name, f"There is no such option for table '{table}'. Remove it, or correct its name")
    is_node = own.get("node.mode", "").strip().lower() != "relationship"
    mapping = TableMapping(
        table,
        is_node,
        _names(own.get("node.labels")),
        _names(own.get("node.id.properties")),
        frozenset(_names(own.get("node.properties.include"))),
        frozenset(_names(own.get("node.properties.exclude"))),
        own.get("node.delete.detach", "true").lower() == "true",
        tuple(
            _relationship(is_node, column, found)
            for column, found in _grouped((name, value) for name, value in own.items() if name.startswith(_RELATIONSHIPS)).items()
        ),
    )
    if is_node:
        _check_node(mapping, prefix)
    else:
        _check_relationship(mapping, prefix)
    if mapping.included and mapping.excluded:
        raise OptionError(f"{prefix}node.properties.include and {prefix}node.properties.exclude exclude each other. Set one of them")
    return mapping


def _is_known(name: str) -> bool:
    column, _, option = name.removeprefix(_RELATIONSHIPS).partition(".")
    return name in _NODE_OPTIONS or (name.startswith(_RELATIONSHIPS) and column != "" and option in _RELATIONSHIP_OPTIONS)


def _check_node(mapping: TableMapping, prefix: str) -> None:
    for name, value in (("node.id.properties", mapping.ids), ("node.labels", mapping.labels)):
        if not value:
            _refuse(prefix + name, "It is required with node.mode=node")


def _check_relationship(mapping: TableMapping, prefix: str) -> None:
    directions = sorted(each.direction for each in mapping.relationships)
    if len(directions) != _ENDPOINTS:
        _refuse(f"{prefix}relationship.*", "node.mode=relationship needs two relationships, one for each end", str(len(directions)))
    if directions != ["incoming", "outgoing"]:
        name = f"{prefix}relationship.<fk_column>.direction"
        _refuse(name, "node.mode=relationship needs one relationship with direction outgoing and one with incoming")


def _relationship(is_node: bool, column: str, own: Mapping[str, str]) -> Relationship:
    prefix = f"{_RELATIONSHIPS}{column}."
    kind, label = (_needed(own, name, prefix) for name in ("type", "target.label"))
    direction = _direction(is_node, own.get("direction", ""), f"{prefix}direction")
    operation = own.get("target.node.op", "match")
    if operation.lower() not in _OPERATIONS:
        _refuse(f"{prefix}target.node.op", "It must be 'match' or 'merge'", operation)
    target, properties = own.get("target.id", column), _names(own.get("properties"))
    return Relationship(column, kind, direction, label, target, _OPERATIONS[operation.lower()], properties)


def _direction(is_node: bool, value: str, name: str) -> Direction:
    if not value.strip():
        if not is_node:
            _refuse(name, "It is required with node.mode=relationship, and must be 'outgoing' or 'incoming'")
        return "outgoing"
    if value.lower() not in ("outgoing", "incoming"):
        _refuse(name, "It must be 'outgoing' or 'incoming'", value)
    return "outgoing" if value.lower() == "outgoing" else "incoming"


def _needed(own: Mapping[str, str], name: str, prefix: str) -> str:
    value = own.get(name, "")
    if not value.strip():
        _refuse(prefix + name, "It is required")
    return value


def _names(text: str | None) -> tuple[str, ...]:
    """The entries, trimmed. Java's split drops empty ones at the end only."""
    return tuple(entry.strip() for entry in text.rstrip(",").split(",")) if text and text.rstrip(",") else ()


def _refuse(name: str, problem: str, value: str = "null") -> NoReturn:
    raise OptionError(f"Invalid value {value} for configuration {name}: {problem}")
