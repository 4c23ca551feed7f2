"""``GeometryFormatTransformer`` and ``SwapGeometryCoordinates``: PostGIS' geometries in other forms (Debezium documentation)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from connector.configdef.key import SINCE_3, Key
from connector.configdef.options import OptionError, Options
from connector.configdef.validators import java_int
from connector.java.splitting import java_list
from connector.record.connect_record import ConnectRecord, DataError
from connector.record.schema import Schema
from connector.record.struct import SchemaCache
from connector.transforms.debezium.nested_values import Change, nested_change
from connector.transforms.transform import SharesHeaders, TransformDefinition
from connector.types.spatial.wkb import has_srid, swapped, with_srid, without_srid

FORMAT: Final = "format"
SRIDS: Final = "srids"
GEOMETRY: Final = "io.debezium.data.geometry.Geometry"

_FORMATS: Final = ("ewkb", "wkb")
_SWAPPED: Final = frozenset({4326, 3857, 4269})
"""The SRIDs whose coordinates are exchanged by default."""
_NOTHING: Final[Change] = lambda value: value  # noqa: E731 - what leaves a value without geometries as it is


def _apply(record: ConnectRecord, changes: SchemaCache[Change], make: Any) -> ConnectRecord:
    """The record with its value changed, unless it is no struct or has no geometry."""
    schema = record.value_schema
    if record.value is None or schema is None or schema.type != "struct":
        return record
    change = changes.get(schema, make)
    return record if change is _NOTHING else replace(record, value=change(record.value))


@dataclass(slots=True)
class GeometryFormatTransformer(SharesHeaders):
    """Takes the SRID out of geometries that have it written into them. ``adds``: it is written into those that come before the first such.

    The names of the formats promise otherwise: with wkb a geometry without SRID gets the one of its struct. So does the real transform,
    and it too stops doing so with the first geometry that has one. ``needs_srid``: a struct without an SRID that is to be written is an
    error. Otherwise its geometry stays as it is.
    """

    adds: bool
    needs_srid: bool
    _changes: SchemaCache[Change] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options) -> GeometryFormatTransformer:
        """Make it of its options."""
        written = options.raw.get(FORMAT, "wkb")
        if written.strip().lower() not in _FORMATS:
            raise OptionError(
                f"Invalid value {written} for configuration {FORMAT}: The '{FORMAT}' value is invalid: Value must be one of ewkb, wkb"
            )
        return cls(written.strip().lower() == "wkb", options.emulation.needs_srids)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with its geometries in the format. Raises DataError where an SRID is to be written and none is known."""
        return _apply(record, self._changes, self._change)

    def _change(self, schema: Schema) -> Change:
        return nested_change(schema, lambda inner: self._converted if inner.name == GEOMETRY else None) or _NOTHING

    def _converted(self, value: Any) -> Any:
        wkb, srid = value["wkb"], value["srid"]
        try:
            if len(wkb) >= 5 and has_srid(wkb):
                self.adds = False
                return {**value, "wkb": without_srid(wkb)}
            if not self.adds or (srid is None and not self.needs_srid):
                return value
            if srid is None:
                raise DataError("Geometry has no SRID, so that it cannot become EWKB")
            return {**value, "wkb": with_srid(wkb, srid)}
        except ValueError as error:
            raise DataError(str(error)) from None


@dataclass(frozen=True, slots=True)
class SwapGeometryCoordinates(SharesHeaders):
    """Exchanges the first two coordinates of geometries with one of the SRIDs."""

    srids: frozenset[int]
    _changes: SchemaCache[Change] = field(default_factory=SchemaCache)

    @classmethod
    def of(cls, options: Options) -> SwapGeometryCoordinates:
        """Make it of its options."""
        written = options.raw.get(SRIDS)
        if written is None:
            return cls(_SWAPPED)
        srids = set()
        for entry in java_list(written):
            number = java_int(entry)
            if number is None:
                raise OptionError(f'For input string: "{entry}"')
            srids.add(number)
        return cls(frozenset(srids))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        """Return the record with its coordinates exchanged. Raises DataError for a geometry that cannot be read."""
        return _apply(record, self._changes, self._change)

    def _change(self, schema: Schema) -> Change:
        return nested_change(schema, lambda inner: self._swapped if inner.name == GEOMETRY else None, members=True) or _NOTHING

    def _swapped(self, value: Any) -> Any:
        if value["srid"] not in self.srids:
            return value
        try:
            return {**value, "wkb": swapped(value["wkb"])}
        except ValueError as error:
            raise DataError(f"Coordinates of a geometry cannot be exchanged: {error}") from None


FORMAT_KEYS: Final = (
    Key(
        FORMAT,
        "STRING",
        "wkb",
        "LOW",
        "Target Format",
        "wkb or ewkb. A geometry with an SRID written into it loses it with either. One without gets its struct's with wkb, until "
        "the first geometry that has one.",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
)
SWAP_KEYS: Final = (
    Key(
        SRIDS,
        "STRING",
        None,
        "LOW",
        "Geometry SRIDs that should be considered for coordinate swapping",
        "SRIDs of the geometries whose coordinates are exchanged, separated by commas. Without it: 4326, 3857 and 4269.",
        width="MEDIUM",
        framework=True,
        fixed_order=1,
    ),
)
DEFINITIONS: Final = (
    TransformDefinition(
        "io.debezium.transforms.GeometryFormatTransformer",
        FORMAT_KEYS,
        GeometryFormatTransformer.of,
        SINCE_3,
        "Writes SRIDs into PostGIS' geometries, or takes them out.",
    ),
    TransformDefinition(
        "io.debezium.transforms.SwapGeometryCoordinates",
        SWAP_KEYS,
        SwapGeometryCoordinates.of,
        SINCE_3,
        "Exchanges the first two coordinates of PostGIS' geometries.",
    ),
)
