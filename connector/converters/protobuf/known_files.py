"""The files of Protocol Buffers that Confluent's client knows, as far as Connect's types need them.

Sources: ``confluent/type/decimal.proto`` of Confluent's schema registry, ``google/type`` of the common protos, and ``google/protobuf`` of
Protocol Buffers. They are registered only with ``skip.known.types=false``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from connector.converters.protobuf.definition import ProtoField, ProtoFile, ProtoMessage, quoted

WRAPPERS_NAME: Final = "google/protobuf/wrappers.proto"


def _options(java_package: str, java_class: str, go_package: str = "", prefix: str = "", csharp: str = "") -> tuple[tuple[str, str], ...]:
    found = [("java_package", quoted(java_package)), ("java_outer_classname", quoted(java_class)), ("java_multiple_files", "true")]
    if go_package:
        found.append(("go_package", quoted(go_package)))
    if prefix:
        found.append(("cc_enable_arenas", "true"))
        found.append(("objc_class_prefix", quoted(prefix)))
    if csharp:
        found.append(("csharp_namespace", quoted(csharp)))
    return tuple(found)


def _message(name: str, **fields: str) -> ProtoMessage:
    return ProtoMessage(name, [ProtoField(field, number, kind) for number, (field, kind) in enumerate(fields.items(), 1)])


def _google(kind: str, java_class: str, *messages: ProtoMessage) -> ProtoFile:
    # The client makes these files of their compiled form, which has the names of fields in JSON too.
    for message in messages:
        message.fields = [replace(each, json_name=each.name) for each in message.fields]
    go_package = f"google.golang.org/protobuf/types/known/{kind}pb"
    options = _options("com.google.protobuf", java_class, go_package, "GPB", "Google.Protobuf.WellKnownTypes")
    return ProtoFile("google.protobuf", messages, options=options)


def _common(kind: str, java_class: str, message: ProtoMessage) -> ProtoFile:
    go_package = f"google.golang.org/genproto/googleapis/type/{kind};{kind}"
    return ProtoFile("google.type", (message,), options=_options("com.google.type", java_class, go_package, "GTP"))


WRAPPERS: Final = _google(
    "wrappers",
    "WrappersProto",
    _message("DoubleValue", value="double"),
    _message("FloatValue", value="float"),
    _message("Int64Value", value="int64"),
    _message("UInt64Value", value="uint64"),
    _message("Int32Value", value="int32"),
    _message("UInt32Value", value="uint32"),
    _message("BoolValue", value="bool"),
    _message("StringValue", value="string"),
    _message("BytesValue", value="bytes"),
)
FILES: Final[dict[str, ProtoFile]] = {
    "confluent/type/decimal.proto": ProtoFile(
        "confluent.type",
        (_message("Decimal", value="bytes", precision="uint32", scale="int32"),),
        options=_options("io.confluent.protobuf.type", "DecimalProto"),
    ),
    "google/type/date.proto": _common("date", "DateProto", _message("Date", year="int32", month="int32", day="int32")),
    "google/type/timeofday.proto": _common(
        "timeofday", "TimeOfDayProto", _message("TimeOfDay", hours="int32", minutes="int32", seconds="int32", nanos="int32")
    ),
    "google/protobuf/timestamp.proto": _google("timestamp", "TimestampProto", _message("Timestamp", seconds="int64", nanos="int32")),
    WRAPPERS_NAME: WRAPPERS,
}
"""Path of a file → the file."""
FILE_OF: Final = {f"{file.package}.{message.name}": path for path, file in FILES.items() for message in file.messages}
"""Full name of a message → path of its file."""
