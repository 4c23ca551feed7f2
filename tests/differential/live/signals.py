"""Draws signals, and sends them to both connectors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer

from .literals import quote, quote_name
from .run import Run
from .world import Table, World

EXECUTE: Final = "execute-snapshot"


def draw_snapshot(world: World, tables: Sequence[Table], kind: str) -> dict[str, Any]:
    """The data of a signal that asks for rows."""
    random = world.random
    names = [f"{table.schema}.{table.name}" for table in tables]
    data: dict[str, Any] = {"data-collections": names, "type": kind}
    form = random.random()
    if form < 0.15:
        data["data-collections"] = [random.choice((r"public\.t\d+", r"public\.(t|par).*", ".*t1", "public.missing"))]
    elif form < 0.2:
        data["data-collections"] = [*names, "public.missing"]
    column = quote_name(tables[0].columns[0].name)
    if world.chance(0.3) and tables[0].columns[0].serial:
        condition = random.choice((f"{column} > 3", f"{column} BETWEEN 2 AND 5", "false", f"{column} = 1 OR {column} = 2"))
        if kind == "blocking" and form >= 0.2:
            condition = f"SELECT * FROM {tables[0].quoted} WHERE {condition}"
        data["additional-conditions"] = [{"data-collection": names[0], "filter": condition}]
    if kind == "incremental" and world.chance(0.2) and tables[0].columns[0].serial and len(tables) == 1:
        data["surrogate-key"] = tables[0].columns[0].name
    if world.chance(0.1):
        del data["type"]
    return data


def file_of(run: Run, name: str) -> Path:
    """The file of signals of a side. Its connector empties it."""
    assert run.place.signals is not None
    return run.place.signals / f"{name}-signals.txt"


class Signals:
    """By the table of signals, or by a topic or file of each connector, as the configuration enables them."""

    def __init__(self, run: Run, world: World) -> None:
        self._run, self._world = run, world
        self._count = 0
        self._producer = Producer({"bootstrap.servers": run.place.bootstrap, "log_level": 0})

    def send(self, kind: str, data: object, channel: str) -> None:
        """``data`` is JSON, or a text as it is."""
        self._count += 1
        name = f"sig{self._count}"
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        if channel == "source":
            self._world.execute(f"INSERT INTO public.dbz_signal VALUES ({quote(name)}, {quote(kind)}, {quote(text)})")
            return
        self._run.statements.append(f"-- SIGNAL by {channel} {kind} {text}")
        value = json.dumps({"id": name, "type": kind, "data": data})
        if channel == "file":
            for side in self._run.sides:
                file_of(self._run, side.name).write_text(f"{value}\n", encoding="utf-8")
            return
        for side in self._run.sides:
            self._producer.produce(f"{side.name}-signals", value, key=side.name)
        self._producer.flush(10)
