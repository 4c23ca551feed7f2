"""``ExtractNewRecordState``: the row after the change in place of the event (Debezium documentation, "New record state extraction").

A deleted row has no state, so an option says what stands for it. Names and places of added fields, and what happens to a deleted row, were
recorded from both versions, which differ much (:mod:`connector.transforms.debezium.differences`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from connector.configdef.key import VERSIONS
from connector.configdef.options import OptionError, Options
from connector.java.trim import trim
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.schema import STRING, Field, Schema
from connector.record.struct import SchemaCache
from connector.transforms.debezium.differences import Differences, differences_of
from connector.transforms.debezium.envelope import copied, filled, is_change_event, schema_of, text_of, with_defaults
from connector.transforms.debezium.new_record_state.dropped_fields import DroppedFields
from connector.transforms.debezium.new_record_state.extract_new_record_state_keys import DELETE_MODES, KEYS, MODES
from connector.transforms.debezium.new_record_state.field_reference import FieldReference, ResolvedField
from connector.transforms.transform import SharesHeaders, TransformDefinition

_DELETED: Final = "__deleted"
_MARK: Final = frozenset({_DELETED})
_OPTIONAL_STRING: Final = STRING.as_optional()


@dataclass(frozen=True, slots=True)
class _Deletes:
    """How events of deleted rows, and the tombstones after them, are handled."""

    row: str
    """drop, null (a null value with the row's schema), tombstone (without a schema) or rewrite."""
    keeps_tombstones: bool

    @classmethod
    def of(cls, options: Options, differences: Differences) -> _Deletes:
        """Read the option of the version, or its two. Raises OptionError."""
        if differences.names_delete_and_tombstone_together:
            mode = _choice(options, "delete.tombstone.handling.mode", MODES)
            row = {"tombstone": "null", "delete-to-tombstone": "tombstone", "rewrite-with-tombstone": "rewrite"}.get(mode, mode)
            return cls(row, keeps_tombstones=mode == "rewrite-with-tombstone")
        mode = _choice(options, "delete.handling.mode", DELETE_MODES)
        return cls("null" if mode == "none" else mode, keeps_tombstones=not options.flag("drop.tombstones"))


class _Layout:
    """How the new value is made of rows of one schema: its schema, and the fields added to the row."""

    __slots__ = ("_added", "_defaults", "_marks", "_marks_first", "added_names", "first_schema", "schema")

    def __init__(
        self, row: Schema, added: tuple[ResolvedField, ...], defaults: tuple[tuple[str, Any], ...], *, marks: bool, first: bool
    ) -> None:
        mark = (Field(_DELETED, _OPTIONAL_STRING),) if marks else ()
        more = tuple(Field(field.name, field.schema) for field in added)
        self.first_schema: Final = copied(row, (*row.fields, *mark)) if first else row
        self.schema: Final = copied(row, (*row.fields, *((*mark, *more) if first else (*more, *mark))))
        self.added_names: Final = frozenset(field.name for field in added)
        self._added: Final = added
        self._defaults: Final = defaults
        self._marks: Final = marks
        self._marks_first: Final = first

    def rewritten(self, row: Mapping[str, Any], *, deleted: bool) -> dict[str, Any]:
        """Return a copy of the row with its defaults and its mark, where the options want them."""
        out = filled(row, self._defaults)
        if self._marks and self._marks_first:
            out[_DELETED] = "true" if deleted else "false"
        return out

    def complete(self, out: dict[str, Any], envelope: Mapping[str, Any], *, deleted: bool) -> dict[str, Any]:
        """Add the fields of the event to what :meth:`rewritten` made."""
        for field in self._added:
            out[field.name] = field.value(envelope)
        if self._marks and not self._marks_first:
            out[_DELETED] = "true" if deleted else "false"
        return out


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is known of one schema of events."""

    before: Schema
    after: Schema
    headers: tuple[ResolvedField, ...]


class ExtractNewRecordState(SharesHeaders):
    """Replaces events by rows; records that are no change events pass."""

    def __init__(self, options: Options) -> None:
        self._differences: Final = differences_of(options.emulation)
        self._deletes: Final = _Deletes.of(options, self._differences)
        self._fields: Final = self._references(options, "add.fields")
        self._headers: Final = self._references(options, "add.headers")
        self._route: Final = options.raw.get("route.by.field") or None
        self._drop: Final = DroppedFields.of(options, self._differences)
        replaces = options.raw.get("replace.null.with.default", "true").strip().lower() != "false"
        self._fills: Final = self._deletes.row == "rewrite" and (replaces or not self._differences.may_keep_nulls)
        self._plans: Final[SchemaCache[_Plan]] = SchemaCache()
        self._layouts: Final[SchemaCache[SchemaCache[_Layout]]] = SchemaCache()

    def _references(self, options: Options, name: str) -> tuple[FieldReference, ...]:
        prefix = options.raw.get(f"{name}.prefix", "__")
        return tuple(FieldReference.parse(prefix, entry, self._differences) for entry in options.names(name) if entry)

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """Return the record with the row as its value; None to drop it. Raises DataError for fields that are not as the options say."""
        if record.value is None:
            return self._tombstone(record)
        if not is_change_event(record) or record.value_schema is None:
            return record
        plan = self._plans.get(record.value_schema, self._planned)
        before, after = record.value.get("before"), record.value.get("after")
        if before is None and after is None:
            return None
        envelope = record.value
        if after is None and not self._differences.rewrites_first and self._deletes.row != "null":
            self._checked(record, plan, before)
            if self._deletes.row == "drop":
                return None
        if plan.headers:
            more = (Header(header.name, header.schema, header.value(envelope)) for header in plan.headers)
            record = replace(record, headers=(*record.headers, *more))
        return self._deleted(record, plan, before) if after is None else self._kept(record, plan, after)

    def added_to_rows(self, envelope: Schema, *, nulls_are_defaults: bool) -> tuple[ResolvedField | None, ...] | None:
        """Return what follows the row's own fields in every row that is kept: fields of the event, and None for the mark ``__deleted``.

        None instead when the result depends on more than the event's row and its fields. ``nulls_are_defaults``: the converter writes a
        default in place of null, so that it makes no difference who fills it in. For :mod:`connector.delivery.compiled_path`.
        """
        row = schema_of(envelope, "after")
        if self._route or self._headers or self._drop.header or (self._fills and with_defaults(row) and not nulls_are_defaults):
            return None
        layout = self._layout(envelope, row)
        by_name = {field.name: field for field in _resolved(self._fields, envelope)}
        return tuple(by_name.get(field.name) for field in layout.schema.fields[len(row.fields) :])

    @property
    def tells_null_from_default(self) -> bool:
        """Whether added fields or headers show a null that has a default: ``source.snapshot``, and columns."""
        return any(each.field == "snapshot" or each.struct in ("before", "after") for each in (*self._fields, *self._headers))

    def kept_schema(self, envelope: Schema) -> Schema:
        """Return the schema of the rows that are kept, where no header drops fields."""
        return self._layout(envelope, schema_of(envelope, "after")).schema

    def _checked(self, record: ConnectRecord, plan: _Plan, before: Mapping[str, Any]) -> None:
        """Raise what routing and dropping raise. Version 2.3.4 does both before it decides how to handle a deleted row."""
        self._drop.applied(self._routed(replace(record, value_schema=None, value=None), plan.before, before))

    def _tombstone(self, record: ConnectRecord) -> ConnectRecord | None:
        """The operation is a tombstone's only header: it holds nothing that the others could be taken from."""
        if not self._deletes.keeps_tombstones:
            return None
        for header in self._headers:
            if header.field == "op":
                record = record.with_header(header.new_name, STRING, "d")
        return record

    def _planned(self, schema: Schema) -> _Plan:
        return _Plan(schema_of(schema, "before"), schema_of(schema, "after"), _resolved(self._headers, schema))

    def _layout(self, envelope: Schema, row: Schema) -> _Layout:
        def make(row: Schema) -> _Layout:
            if schema_of(envelope, "op").type != "string":
                raise DataError("Field 'op' is not of type STRING")
            defaults = with_defaults(row) if self._fills else ()
            marks = self._deletes.row == "rewrite"
            return _Layout(row, _resolved(self._fields, envelope), defaults, marks=marks, first=self._differences.rewrites_first)

        return self._layouts.get(envelope, lambda _: SchemaCache()).get(row, make)

    def _kept(self, record: ConnectRecord, plan: _Plan, after: Mapping[str, Any]) -> ConnectRecord:
        """The row as it is now."""
        envelope, schema = record.value, self._known(record)
        layout = self._layout(schema, plan.after)
        out = layout.rewritten(after, deleted=False)
        record = self._routed(record, layout.first_schema, out if self._differences.rewrites_first else after)
        out = layout.complete(out, envelope, deleted=False)
        marks_last = self._deletes.row == "rewrite" and not self._differences.rewrites_first
        record = replace(record, value_schema=layout.schema, value=out)
        return self._drop.applied(record, _MARK if marks_last else frozenset())

    def _deleted(self, record: ConnectRecord, plan: _Plan, before: Mapping[str, Any]) -> ConnectRecord | None:
        """The row as it was, or what stands for it."""
        kind = self._deletes.row
        if kind == "drop":
            return None
        if kind == "rewrite":
            layout = self._layout(self._known(record), plan.before)
            out = layout.complete(layout.rewritten(before, deleted=True), record.value, deleted=True)
            record = replace(record, value_schema=layout.schema, value=out)
            if not self._differences.rewrites_first:
                return record
            return self._drop.applied(self._routed(record, plan.before, before), layout.added_names)
        record = self._routed(record, plan.before, before)
        return self._drop.applied(replace(record, value_schema=None if kind == "tombstone" else plan.after, value=None))

    def _routed(self, record: ConnectRecord, schema: Schema, row: Mapping[str, Any]) -> ConnectRecord:
        if self._route is None:
            return record
        topic = text_of(schema, row, self._route)
        if topic is None or (not trim(topic) and not self._differences.routes_to_empty_topic):
            return record
        return replace(record, topic=topic)

    @staticmethod
    def _known(record: ConnectRecord) -> Schema:
        if record.value_schema is None:
            raise DataError("A change event has no schema")
        return record.value_schema


def _resolved(references: tuple[FieldReference, ...], envelope: Schema) -> tuple[ResolvedField, ...]:
    """The fields that this envelope has."""
    return tuple(found for reference in references if (found := reference.resolved(envelope)) is not None)


def _choice(options: Options, name: str, choices: tuple[str, ...]) -> str:
    value = options.needed(name).lower()
    if value not in choices:
        raise OptionError(f"Unable to validate config. The '{name}' value is invalid: Value must be one of {', '.join(choices)}")
    return value


DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.ExtractNewRecordState",
        KEYS,
        ExtractNewRecordState,
        VERSIONS,
        "Sends the row after a change in place of the event.",
    ),
)
