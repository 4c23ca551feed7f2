"""The options of Confluent's ProtobufConverter beside those that it shares with the others.

Source: Confluent documentation, "Protobuf Schema Serializer and Deserializer" and "Schema Registry Configuration for Kafka Connect".
"""

from __future__ import annotations

from typing import Final

from connector.converters.confluent_keys import unlisted_key

_REFERENCES: Final = "io.confluent.kafka.serializers.subject."
DEFAULT_REFERENCE: Final = _REFERENCES + "DefaultReferenceSubjectNameStrategy"
QUALIFIED_REFERENCE: Final = _REFERENCES + "QualifiedReferenceSubjectNameStrategy"
_READING: Final = "A source connector reads no Protocol Buffers."

PROTOBUF_KEYS: Final = (
    unlisted_key(
        "optional.for.nullables",
        "BOOLEAN",
        "false",
        "MEDIUM",
        "Whether nullable fields get the label optional. Without it null is read as the zero of the type.",
    ),
    unlisted_key(
        "wrapper.for.nullables",
        "BOOLEAN",
        "false",
        "MEDIUM",
        "Whether nullable fields of scalar types become messages such as google.protobuf.StringValue.",
    ),
    unlisted_key(
        "scrub.invalid.names", "BOOLEAN", "false", "MEDIUM", "Whether letters that Protocol Buffers do not allow in names are replaced."
    ),
    unlisted_key(
        "generalized.sum.type.support",
        "BOOLEAN",
        "false",
        "MEDIUM",
        "Whether the parameters org.apache.kafka.connect.data.Enum and Union name the values of an enum and the oneof.",
    ),
    unlisted_key(
        "ignore.default.for.nullables", "BOOLEAN", "false", "MEDIUM", "Whether null stays null in a nullable field with a default."
    ),
    unlisted_key(
        "reference.subject.name.strategy",
        "CLASS",
        DEFAULT_REFERENCE,
        "LOW",
        "How the subjects of imported files are named: by their path, or with dots and without .proto (Qualified...).",
    ),
    unlisted_key(
        "reference.lookup.only",
        "BOOLEAN",
        "false",
        "MEDIUM",
        "Whether imported files are only looked up, though the schema itself is registered.",
    ),
    unlisted_key(
        "skip.known.types",
        "BOOLEAN",
        "true",
        "LOW",
        "Whether imported files that each client knows are not registered: all that this converter imports.",
    ),
    *(
        unlisted_key(name, "BOOLEAN", default, "MEDIUM", doc, support="ignored", reason=_READING)
        for name, default, doc in (
            ("enhanced.protobuf.schema.support", "false", "Whether Connect's schemas keep the package's name."),
            ("int.for.enums", "false", "Whether enums are read as numbers."),
            ("optional.for.proto2", "true", "Whether optional fields of proto2 are read as nullable."),
            ("wrapper.for.raw.primitives", "true", "Whether a wrapper at the root is read as a scalar value."),
            ("generate.struct.for.nulls", "false", "Whether missing messages are read as structs of defaults."),
            ("generate.index.for.unions", "true", "Whether names of unions get an index."),
            ("flatten.unions", "false", "Whether the members of a oneof are read as fields."),
        )
    ),
)
