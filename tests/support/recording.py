"""What a scenario brought to Kafka, with all that differs from run to run replaced by its type; and how two of them compare."""

from __future__ import annotations

import base64
import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from .topics import Raw

TIMES: Final = frozenset({"ts_ms", "ts_us", "ts_ns"})
POSITIONS: Final = frozenset({"lsn", "txId", "xmin", "origin_lsn"})
ADDED: Final = re.compile(rf".*[._](?:{'|'.join(sorted(TIMES | POSITIONS))})")
"""Names under which a transform shows them elsewhere: ``__lsn``, ``source.ts_ms``."""
REST: Final = (
    (re.compile(r'"worker_id":"[^"]*"'), '"worker_id":"WORKER"'),
    (re.compile(r'"trace":"(?:[^"\\]|\\.)*"'), '"trace":"TRACE"'),
    (re.compile(r'"(lsn\w*|txId|ts_usec)":-?\d+'), r'"\1":0'),
    (re.compile(r'"transaction_id":"\d+"'), '"transaction_id":"0"'),
)
UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
WINDOWS: Final = (
    (re.compile(UUID.encode() + rb"(?=-(?:open|close)\b)"), b"UUID"),
    (re.compile(rb'(WindowTimestamp\\*": \\*")[^"\\]+'), rb"\1INSTANT"),
)
"""A chunk's marks in the signal table: a random name and the times of its opening and closing."""
NOTIFICATION: Final = frozenset({"id", "type", "aggregate_type", "additional_data", "timestamp"})


@dataclass(frozen=True, slots=True)
class Compare:
    """How a scenario's result is compared.

    ``last``: only each key's last record counts, where the reference may repeat. ``unordered``: the order within a topic does
    not count. ``partitions``: the partition of each record counts. ``headers``: the context headers count too. ``ignore``:
    regular expressions of topics that do not count. ``settings``: topic settings that are compared, with the partition count.
    """

    last: bool = False
    unordered: bool = False
    partitions: bool = False
    headers: bool = False
    ignore: Sequence[str] = ()
    settings: Sequence[str] = ()

    def ignores(self, topic: str) -> bool:
        return any(re.search(pattern, topic) for pattern in self.ignore)


@dataclass(frozen=True, slots=True)
class Recording:
    """``marks`` are the record counts at each ``settle``; ``topics`` the scrubbed records in their order."""

    marks: list[dict[str, int]]
    rest: list[dict[str, Any]]
    topics: dict[str, list[dict[str, Any]]]
    settings: dict[str, dict[str, str]] = field(default_factory=dict)

    def write(self, file: Path, **about: str) -> None:
        """As JSON, a record a line; schemas, which repeat, stand once in a list and are named by their number."""
        schemas: list[str] = []
        lines = [f'"about": {json.dumps(about)}', f'"marks": {json.dumps(self.marks)}', f'"settings": {json.dumps(self.settings)}']
        lines.append(f'"rest": [{_rows(self.rest)}]')
        folded = {topic: [_fold(record, schemas) for record in records] for topic, records in self.topics.items()}
        topics = ",\n".join(f"{json.dumps(topic)}: [{_rows(records)}]" for topic, records in folded.items())
        lines += [f'"topics": {{\n{topics}\n}}', '"schemas": [\n' + ",\n".join(schemas) + "\n]"]
        file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> Recording:
        found = json.loads(file.read_text(encoding="utf-8"))
        topics = {topic: [_unfold(record, found["schemas"]) for record in records] for topic, records in found["topics"].items()}
        return cls(found["marks"], found["rest"], topics, found["settings"])


def _rows(records: Sequence[Any]) -> str:
    return "\n" + ",\n".join(json.dumps(record, ensure_ascii=False) for record in records) + "\n" if records else ""


def _fold(value: Any, schemas: list[str]) -> Any:
    if isinstance(value, dict) and value.keys() == {"schema", "payload"} and isinstance(value["schema"], dict):
        text = json.dumps(value["schema"], ensure_ascii=False)
        if text not in schemas:
            schemas.append(text)
        return {"schema": schemas.index(text), "payload": value["payload"]}
    if isinstance(value, dict):
        return {key: _fold(part, schemas) for key, part in value.items()}
    if isinstance(value, list):
        return [_fold(part, schemas) for part in value]
    return value


def _unfold(value: Any, schemas: Sequence[Any]) -> Any:
    if isinstance(value, dict) and value.keys() == {"schema", "payload"} and isinstance(value["schema"], int):
        return {"schema": schemas[value["schema"]], "payload": value["payload"]}
    if isinstance(value, dict):
        return {key: _unfold(part, schemas) for key, part in value.items()}
    if isinstance(value, list):
        return [_unfold(part, schemas) for part in value]
    return value


def topic_records(raws: Sequence[Raw], compare: Compare, tag: str, database: str) -> list[dict[str, Any]]:
    """The records as they are compared."""

    def parse(data: bytes | None) -> Any:
        return scrub(decode(data, tag, database))

    records: list[dict[str, Any]] = []
    for raw in raws:
        headers = [
            [name, scrub({name: parse(value)})[name] if name != "__debezium.context.runId" else "UUID"]
            for name, value in raw.headers
            if compare.headers or not name.startswith("__debezium.context")
        ]
        record: dict[str, Any] = {"key": parse(raw.key), "value": parse(raw.value)}
        if is_notification(record["value"]):
            record = {part: scrub_notification(record[part]) for part in record}
        record |= {"headers": headers} if headers else {}
        record |= {"partition": raw.partition} if compare.partitions else {}
        records.append(record)
    if compare.last:
        by_key = {json.dumps(record["key"]): record for record in records}
        records = [by_key[key] for key in sorted(by_key)]
    if compare.unordered:
        records.sort(key=json.dumps)
    return records


def decode(data: bytes | None, tag: str, database: str) -> Any:
    """JSON with its numbers as they are written (1.0 is not 1); other data as text or base64."""
    if data is None:
        return None
    data = data.replace(tag.encode(), b"PREFIX").replace(database.encode(), b"DATABASE")
    for pattern, put in WINDOWS:
        data = pattern.sub(put, data)
    try:
        return json.loads(data, parse_float=lambda text: f"<number {text}>")
    except ValueError:
        return {"not JSON": base64.b64encode(data).decode()}


def scrub(value: Any, path: tuple[str, ...] = ()) -> Any:
    """Replace times, positions and transaction ids by their types; null stays null."""
    if isinstance(value, list):
        return [scrub(part, path) for part in value]
    if not isinstance(value, dict):
        return value
    cleaned: dict[str, Any] = {}
    for key, part in value.items():
        in_source = path[-1:] == ("source",)
        if part is None or isinstance(part, dict | list):
            cleaned[key] = scrub(part, (*path, key))
        elif key in TIMES or (in_source and key in POSITIONS) or ADDED.fullmatch(key):
            cleaned[key] = f"<{type(part).__name__}>"
        elif (in_source and key == "sequence") or key.endswith(("_sequence", ".sequence")):
            cleaned[key] = re.sub(r"\d+", "N", part)
        elif key == "id" and isinstance(part, str) and re.fullmatch(r"\d+:\d+", part):
            cleaned[key] = "<transaction>"
        else:
            cleaned[key] = part
    return cleaned


def _payload(value: Any) -> Any:
    return value["payload"] if isinstance(value, dict) and value.keys() == {"schema", "payload"} else value


def is_notification(value: Any) -> bool:
    """Whether a record's value, with or without schema, comes from the connector itself. Version 2.3.4 writes no timestamp."""
    payload = _payload(value)
    return isinstance(payload, dict) and payload.keys() | {"timestamp"} == NOTIFICATION


def scrub_notification(value: Any) -> Any:
    """Replace the random id, which a signal's id is not, and the time, in a notification or its key."""
    payload = _payload(value)
    cleaned = dict(payload)
    if re.fullmatch(UUID, str(payload["id"])):
        cleaned["id"] = "UUID"
    if "timestamp" in payload:
        cleaned["timestamp"] = f"<{type(payload['timestamp']).__name__}>"
    return cleaned if payload is value else {"schema": value["schema"], "payload": cleaned}


def scrub_rest(text: str, tag: str, database: str) -> str:
    """A REST answer without what differs from run to run."""
    text = text.replace(tag, "PREFIX").replace(database, "DATABASE")
    for pattern, put in REST:
        text = pattern.sub(put, text)
    return text


def difference(wanted: Recording, got: Recording, limit: int = 80) -> str:
    """What differs, for people to read; empty when nothing does. Counts come before contents."""
    if json.dumps(_parts(wanted)) == json.dumps(_parts(got)):
        # To print them for people and to compare the lines takes most of a scenario's time.
        return ""
    left, right = _shown(wanted), _shown(got)
    lines = list(difflib.unified_diff(left, right, "reference", "ours", lineterm="", n=6))
    if not lines:
        return ""
    counts = [
        f"{topic}: {len(wanted.topics.get(topic, []))} records in the reference, {len(got.topics.get(topic, []))} of ours"
        for topic in sorted(wanted.topics.keys() | got.topics.keys())
        if len(wanted.topics.get(topic, [])) != len(got.topics.get(topic, []))
    ]
    more = [f"… {len(lines) - limit} more lines"] if len(lines) > limit else []
    return "\n".join([*counts, *(line[:300] for line in lines[:limit]), *more])


def _parts(recording: Recording) -> Mapping[str, Any]:
    """What is compared. The order of topics means nothing, that of an event's fields is part of it."""
    return {"rest": recording.rest, "settings": recording.settings, "topics": dict(sorted(recording.topics.items()))}


def _shown(recording: Recording) -> list[str]:
    return json.dumps(_parts(recording), indent=1, ensure_ascii=False).splitlines()
