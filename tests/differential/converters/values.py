"""Random values of schemas, as this project holds them, with the extremes of each type among them."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any, Final

from connector.record.schema import CONNECT_DATE, CONNECT_TIME, CONNECT_TIMESTAMP, DECIMAL, Schema
from tests.differential.converters.numbers import Floats

_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_TEXTS: Final = (
    *("", "a", "text", "12", "true", "null", 'q"uote', "back\\slash", "line\nend\r", "tab\t", "\0", "\x1f\x7f\x80", "é ß €", "😀"),
    *(
        "\u2028\u2029",
        "</script>",
        "'",
        "x" * 300,
        "\ufeff",
        "\uffff",
        "\U0010ffff",
        "[1, 2]",
        '{"a": 1}',
        " ",
        "a,b:c",
        "\u0131 \u0130",
        "\x0b\x0c\x08",
    ),
)


class Values:
    """Makes values; the same random numbers make the same values."""

    def __init__(self, random: Random, floats: Floats) -> None:
        self._random = random
        self._floats = floats

    def value(self, schema: Schema) -> Any:
        """Return a value that fits the schema."""
        random = self._random
        if schema.optional and random.random() < 0.25:
            return None
        match schema.type:
            case "boolean":
                return random.random() < 0.5
            case "int8" | "int16" | "int32" | "int64":
                return self._integer(schema)
            case "float":
                return random.choice(self._floats.singles)
            case "double":
                return random.choice(self._floats.doubles)
            case "string":
                return self._text(schema)
            case "bytes":
                return self._bytes(schema)
            case "array":
                assert schema.items is not None
                return [self.value(schema.items) for _ in range(random.choice((0, 1, 2, 3)))]
            case "map":
                assert schema.keys is not None
                assert schema.values is not None
                return {self.value(schema.keys): self.value(schema.values) for _ in range(random.choice((0, 1, 2, 3)))}
        return {field.name: self.value(field.schema) for field in schema.fields}

    def plain(self, depth: int = 3) -> Any:
        """Return a value that needs no schema."""
        random = self._random
        match random.randrange(9 if depth else 7):
            case 0:
                return None
            case 1:
                return random.random() < 0.5
            case 2:
                return random.choice((0, 1, -1, 2**63 - 1, -(2**63), random.randint(-(10**6), 10**6)))
            case 3:
                return random.choice(self._floats.doubles)
            case 4 | 5:
                return random.choice(_TEXTS)
            case 6:
                return random.randbytes(random.choice((0, 1, 5)))
            case 7:
                return [self.plain(depth - 1) for _ in range(random.choice((0, 1, 2, 3)))]
        keys = [random.choice(_TEXTS) if random.random() < 0.9 else random.randrange(5) for _ in range(random.choice((0, 1, 2, 3)))]
        return {key: self.plain(depth - 1) for key in keys}

    def _integer(self, schema: Schema) -> int:
        random = self._random
        if schema.name == CONNECT_TIME:
            return random.choice((0, 86_399_999, random.randrange(86_400_000)))
        if schema.name == CONNECT_DATE:
            return random.choice((0, 1, -1, 19_000, random.randint(-800_000, 3_000_000)))
        if schema.name == CONNECT_TIMESTAMP:
            return random.choice((0, -1, 1_700_000_000_123, 86_400_000, random.randint(-(10**14), 10**15)))
        most = 1 << _BITS[schema.type] - 1
        return random.choice((0, 1, -1, most - 1, -most, random.randrange(-most, most), random.randint(-100, 100)))

    def _text(self, schema: Schema) -> str:
        labels = [key.rpartition(".")[2] for key, _ in schema.parameters if ".Enum." in key]
        if labels and self._random.random() < 0.9:
            return self._random.choice(labels)
        return self._random.choice(_TEXTS)

    def _bytes(self, schema: Schema) -> bytes | Decimal:
        random = self._random
        if schema.name != DECIMAL:
            return random.randbytes(random.choice((0, 1, 2, 3, 4, 7, 100)))
        scale = int(dict(schema.parameters).get("scale", "0"))
        digits = random.choice((0, 1, -1, 127, 128, -128, -129, 255, 256, 1250, random.randint(-(10**9), 10**9), 10**30, -(10**60) + 7))
        return Decimal((0 if digits >= 0 else 1, tuple(map(int, str(abs(digits)))), -scale))
