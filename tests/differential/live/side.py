"""One of the two workers, with the connector of a run and what it sent."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any, Final

import httpx
from confluent_kafka import Consumer, TopicPartition

from .comparison import Record

FAILED: Final = "FAILED"
MISSING: Final = "MISSING"
LISTING: Final = 0.4
"""Seconds between two looks for topics that were created."""


class Side:
    """``name`` is that of the connector's slot, publication and topic prefix, and first its own (``connector``)."""

    def __init__(self, url: str, name: str, bootstrap: str) -> None:
        self.name = self.connector = name
        self.records: list[Record] = []
        self.trace = ""
        self._client = httpx.Client(base_url=url, timeout=90)
        settings = {"group.id": name, "enable.auto.commit": False, "fetch.wait.max.ms": 50, "isolation.level": "read_uncommitted"}
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "log_level": 0, **settings})
        self._assigned: set[tuple[str, int]] = set()
        self._listed = 0.0

    def call(self, method: str, path: str = "", body: object = None) -> tuple[int, Any]:
        """Ask the worker about the connector. The answer is JSON, a text or None."""
        answer = self._client.request(method, f"/connectors/{self.connector}{path}", json=body)
        return answer.status_code, _content(answer)

    def create(self, config: Mapping[str, str]) -> tuple[int, Any]:
        answer = self._client.post("/connectors", json={"name": self.connector, "config": config})
        return answer.status_code, _content(answer)

    def state(self) -> str:
        """Of the connector, and of its task if it has one; FAILED if one of them failed, whose trace is kept."""
        code, status = self.call("GET", "/status")
        if code != httpx.codes.OK:
            return MISSING
        parts = [status["connector"], *status["tasks"]]
        if any(part["state"] == FAILED for part in parts):
            self.trace = "".join(part.get("trace") or "" for part in parts)
            return FAILED
        return " ".join(part["state"] for part in parts)

    def failed(self) -> bool:
        return self.state() == FAILED

    def poll(self) -> int:
        """Read what is new in the connector's topics, and count it without heartbeats and their transactions."""
        if time.monotonic() - self._listed > LISTING:
            self._listed = time.monotonic()
            topics = self._consumer.list_topics(timeout=10).topics
            places = {(topic, partition) for topic, about in topics.items() if self.name in topic for partition in about.partitions}
            if new := places - self._assigned:
                self._assigned |= new
                self._consumer.incremental_assign([TopicPartition(topic, partition, 0) for topic, partition in sorted(new)])
        count = 0
        for message in self._consumer.consume(500, timeout=0.12):
            if message.error():
                continue
            topic, partition = message.topic(), message.partition()
            assert topic is not None
            assert partition is not None
            headers = tuple((str(header[0]), _data(header[1])) for header in message.headers() or ())
            self.records.append(Record(topic, partition, _data(message.key()), _data(message.value()), headers))
            count += not re.search("heartbeat|beats|transaction", topic)
        return count

    def close(self) -> None:
        self._client.close()
        self._consumer.close()


def _content(answer: httpx.Response) -> Any:
    try:
        return answer.json() if answer.content else None
    except ValueError:
        return answer.text[:300]


def _data(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
