"""What the recorded cases and a small catalog of types give to the tests of the type table.

``recordings.json`` holds texts as PostgreSQL 15 printed them and what Debezium 3.6.3 sent to Kafka for them, streamed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from connector.types.codec import Codec, Column, TypeInfo, TypeSettings
from connector.types.registry import INLINE_NAMES

RECORDINGS: dict[str, Any] = json.loads(Path(__file__).with_name("type_recordings.json").read_text(encoding="utf-8"))


def _types() -> tuple[dict[int, TypeInfo], dict[str, int]]:
    rows: Mapping[str, dict[str, Any]] = RECORDINGS["types"]
    oids = {name: 1000 + number for number, name in enumerate(rows)}
    infos = {}
    for name, row in rows.items():
        infos[oids[name]] = TypeInfo(
            oid=oids[name],
            name=f"_{name[:-2]}" if name.endswith("[]") else name,
            schema=row["schema"],
            kind=row["kind"],
            category=row.get("category", "U"),
            element=oids[row["element"]] if "element" in row else 0,
            base=oids[row["base"]] if "base" in row else 0,
            base_modifier=row.get("base_modifier", -1),
            labels=tuple(row.get("labels", ())),
        )
    return infos, oids


TYPES, OIDS = _types()


def column(name: str, modifier: int = -1, default: str | None = None, *, not_null: bool = False) -> Column:
    return Column(name="c", type_oid=OIDS[name], modifier=modifier, default=default, not_null=not_null)


def settings(changed: Mapping[str, str]) -> TypeSettings:
    values: dict[str, object] = dict(changed)
    if "money_fraction_digits" in values:
        values["money_fraction_digits"] = int(str(values["money_fraction_digits"]))
    if "include_unknown_datatypes" in values:
        values["include_unknown_datatypes"] = values["include_unknown_datatypes"] == "true"
    return TypeSettings(**cast("dict[str, Any]", values))


def compiled_inline(codec: Codec) -> Callable[[bytes], bytes] | None:
    """The inline source as a function, bound to the names it may use and to no others."""
    if codec.inline is None:
        return None
    scope: dict[str, Any] = {"__builtins__": {}, **INLINE_NAMES}
    exec(f"def f(c):\n    return {codec.inline.format(c='c')}", scope)
    return cast("Callable[[bytes], bytes]", scope["f"])
