"""Recordings of output plugins through the pure core: what each plugin's messages become, so that plugins can be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from connector.catalog.table import CatalogTable
from connector.events.stream_settings import StreamSettings
from connector.types.codec import Column, TypeInfo
from connector.wire.lsn import parse_lsn
from connector.wire.output_plugin import Adapter, adapter

from .plugin_session import frames
from .stream_rig import TYPES, StreamRig, catalog_table, configured

_TYPES: Final = {
    **TYPES,
    **{
        oid: TypeInfo(oid, name, "pg_catalog", category=category)
        for oid, name, category in ((26, "oid", "N"), (790, "money", "N"), (1042, "bpchar", "S"))
    },
}

Catalog = Mapping[tuple[str, str], CatalogTable]


def catalog_of(listed: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], CatalogTable]:
    """A recorded catalog."""
    return {
        (table["schema"], table["table"]): catalog_table(
            table["table"],
            *(Column(name, oid, modifier, not_null) for name, oid, modifier, not_null in table["columns"]),
            oid=table["oid"],
            schema=table["schema"],
            primary_key=table["key"],
            identity=table["identity"],
        )
        for table in listed
    }


def translated(reader: Adapter, taken: Sequence[bytes], catalog: Catalog) -> list[bytes]:
    """``taken`` in pgoutput's form; the reader gets what it asks for."""
    out: list[bytes] = []
    used = reader.translate(taken, out)
    while reader.wanted is not None:
        reader.learn(catalog.get(reader.wanted))
        taken = taken[used:]
        used = reader.translate(taken, out)
    assert used == len(taken)
    return out


def events(recorded: Mapping[str, Any], name: str) -> dict[str, list[Any]]:
    """What a recording becomes, by topic: (key, value, LSN, time) of each record; each transaction arrives by itself.

    The last commit in ``sequence`` is left out. It depends on transactions without changes, which only pgoutput does not send.
    """
    reader = adapter(name.split(" ", 1)[0], "UTF8")
    rig = StreamRig(
        config=configured(),
        settings=StreamSettings(skipped=frozenset()),
        types=_TYPES,
    )
    moments = [(parse_lsn(lsn), catalog_of(listed)) for lsn, listed in recorded["catalogs"]]
    for frame in frames(recorded["messages"][name]):
        lsn = int.from_bytes(frame[1:9], "big")
        rig.catalog = [catalog for since, catalog in moments if since <= lsn][-1]
        rig.feed([frame] if reader is None else translated(reader, [frame], rig.catalog))
    assert rig.failures.reported == []
    return {topic: [_shown(record.key, record.value, record.headers) for record in sent] for topic, sent in rig.sent.items()}


def _shown(key: bytes | None, value: bytes | None, headers: bytes) -> Any:
    payload = json.loads(value or b"null")
    if payload is not None:
        payload["source"].pop("sequence")
    return json.loads(key or b"null"), payload, headers.hex()
