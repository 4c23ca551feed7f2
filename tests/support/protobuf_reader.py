"""Reads what the ProtobufConverter wrote: Google's compiler and library know nothing but the registered text."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

from confluent_kafka.schema_registry.confluent import meta_pb2
from confluent_kafka.schema_registry.confluent.type import decimal_pb2
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2, wrappers_pb2
from google.type import date_pb2, timeofday_pb2
from grpc_tools import protoc

_META_IMPORT: Final = 'import "confluent/meta.proto";\n'


def _known() -> Any:
    """The files that a schema may import, as Confluent and Google publish them."""
    files = descriptor_pb2.FileDescriptorSet()
    for module in (descriptor_pb2, meta_pb2, decimal_pb2, date_pb2, timeofday_pb2, timestamp_pb2, wrappers_pb2):
        module.DESCRIPTOR.CopyToProto(files.file.add())
    return files


KNOWN: Final = _known()
"""Descriptors of the known files."""


def compiled(text: str) -> Any:
    """Return the descriptor of a file that holds ``text``. Confluent's client leaves out the import of its own options."""
    if "(confluent.field_meta)" in text:
        text += _META_IMPORT
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "schema.proto").write_text(text, encoding="utf-8")
        (folder / "known").write_bytes(KNOWN.SerializeToString())
        status = protoc.main(
            ["protoc", f"--descriptor_set_in={folder / 'known'}", f"-I{folder}", f"--descriptor_set_out={folder / 'out'}", "schema.proto"]
        )
        assert status == 0, text
        found = descriptor_pb2.FileDescriptorSet.FromString((folder / "out").read_bytes())
    return found.file[0]


def message_class(text: str, full_name: str) -> Any:
    """Return the class of a message that ``text`` defines."""
    pool = descriptor_pool.DescriptorPool()
    for file in KNOWN.file:
        pool.Add(file)
    if full_name not in {f"{file.package}.{message.name}" for file in KNOWN.file for message in file.message_type}:
        pool.Add(compiled(text))
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(full_name))
