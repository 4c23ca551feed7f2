"""pgvector's types: vector and halfvec as arrays of numbers, sparsevec as a struct of dimensions and a map.

Texts: ``[1,2.5]`` and ``{1:0.5,7:2}/9`` (indexes count from 1). Debezium documentation, "PgVector types".
"""

from __future__ import annotations

from typing import Final

from connector.java.floats import as_float32, java_double, java_float
from connector.record.schema import FLOAT32, FLOAT64, INT16, Field, Schema
from connector.types.codec import Codec

_INT16: Final = 32767


def _numbers(text: bytes) -> list[float]:
    if text[:1] != b"[" or text[-1:] != b"]":
        raise ValueError("Vector is not in the form [x,y,...]")
    return [float(part) for part in text[1:-1].split(b",")] if len(text) > 2 else []


def _halves(text: bytes) -> list[float]:
    return [as_float32(number) for number in _numbers(text)]


def _sparse(text: bytes) -> tuple[int, list[tuple[int, float]]]:
    body, slash, dimensions = text.rpartition(b"/")
    if not slash or body[:1] != b"{" or body[-1:] != b"}":
        raise ValueError("Sparse vector is not in the form {index:value,...}/dimensions")
    pairs = [entry.partition(b":") for entry in body[1:-1].split(b",")] if len(body) > 2 else []
    members = [(int(index), float(value)) for index, _, value in pairs]
    count = int(dimensions)
    if count > _INT16:
        raise ValueError("Sparse vector has more than 32767 dimensions, which its schema cannot hold")
    return count, members


def _decode_sparse(text: bytes) -> dict[str, object]:
    dimensions, members = _sparse(text)
    return {"dimensions": dimensions, "vector": dict(members)}


def _encode_sparse(text: bytes) -> bytes:
    dimensions, members = _sparse(text)
    body = b",".join([b"[%d," % index + java_double(value) + b"]" for index, value in dict(members).items()])
    return b'{"dimensions":%d,"vector":[' % dimensions + body + b"]}"


VECTOR: Final = Codec(
    schema=Schema("array", name="io.debezium.data.DoubleVector", version=1, items=FLOAT64),
    encode=lambda text: b"[" + b",".join([java_double(number) for number in _numbers(text)]) + b"]",
    decode=_numbers,
    fallback=[],
)
HALFVEC: Final = Codec(
    schema=Schema("array", name="io.debezium.data.FloatVector", version=1, items=FLOAT32),
    encode=lambda text: b"[" + b",".join([java_float(number) for number in _halves(text)]) + b"]",
    decode=_halves,
    fallback=[],
)
SPARSEVEC: Final = Codec(
    schema=Schema(
        "struct",
        name="io.debezium.data.SparseDoubleVector",
        version=1,
        doc="Sparse double vector",
        fields=(Field("dimensions", INT16), Field("vector", Schema("map", keys=INT16, values=FLOAT64))),
    ),
    encode=_encode_sparse,
    decode=_decode_sparse,
    fallback={"dimensions": 0, "vector": {}},
)
