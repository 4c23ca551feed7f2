"""The calls of Kafka Connect's REST interface that a snapshot of a stopped connector needs (KIP-875, KIP-980)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx

from connector.errors import CdcError, ErrorKind
from connector.ports import JsonObject
from workers.settings.worker_address import AddressError, check_url, netrc_login, shown_url
from workers.spark.failure import UNREADABLE, WRONG, JobError

_SECONDS: Final = 60.0
"""The limit of a call. A worker answers late during a rebalance."""


class Connector:
    """One connector of the worker at ``url``, which may be Kafka Connect or Understudy. ``url`` or the file ``netrc`` may hold the login.

    The attribute ``url`` is for messages and has no login.
    """

    def __init__(self, url: str, name: str, netrc: Path | None = None) -> None:
        """Raises JobError if the address or the file cannot be used."""
        self.url = shown_url(url)
        try:
            check_url(url)
            auth = None if netrc is None else netrc_login(netrc)
            self._client = httpx.AsyncClient(base_url=url.rstrip("/"), auth=auth, timeout=_SECONDS, trust_env=False)
        except AddressError as problem:
            raise JobError(WRONG, f"--connect or --netrc cannot be used: {problem}. Check them.") from None
        except httpx.InvalidURL:
            raise JobError(WRONG, f"--connect {self.url} cannot be used. Check the address.") from None
        self._path = f"/connectors/{quote(name, safe='')}"
        self._begun = False
        self._offset: JsonObject | None = None
        """What was stored when the snapshot began."""
        self.name = name

    async def aclose(self) -> None:
        """Close the connection."""
        await self._client.aclose()

    async def create_stopped(self, config: Mapping[str, str]) -> None:
        """Create the connector in the state STOPPED. Raises JobError with the worker's message if it refuses."""
        await self._call("POST", "/connectors", {"name": self.name, "config": dict(config), "initial_state": "STOPPED"})

    async def config(self) -> dict[str, str]:
        """The connector's configuration with unresolved references. Raises JobError."""
        return dict(await self._call("GET", f"{self._path}/config"))

    async def state(self) -> str:
        """The connector's state: RUNNING, PAUSED, STOPPED or FAILED. Raises JobError."""
        return str((await self._call("GET", f"{self._path}/status"))["connector"]["state"])

    async def resume(self) -> None:
        """Resume the connector. Raises JobError."""
        await self._call("PUT", f"{self._path}/resume")

    async def load(self, partition: JsonObject) -> JsonObject | None:
        """See :class:`connector.ports.OffsetStore`. Raises CdcError(STORE)."""
        listed = (await self._offsets("GET"))["offsets"]
        return next((dict(one["offset"]) for one in listed if one["partition"] == dict(partition)), None)

    async def store(self, partition: JsonObject, offset: JsonObject | None) -> None:
        """See :class:`connector.ports.OffsetStore`; the connector must be STOPPED. Raises CdcError(STORE).

        The second call ends the snapshot. It raises JobError, and stores nothing if anybody has changed the offset since the first: the
        connector has run, and what was read is outdated.
        """
        change = {"offsets": [{"partition": dict(partition), "offset": None if offset is None else dict(offset)}]}
        if not self._begun:
            await self._offsets("PATCH", change)
            self._begun = True
            self._offset = offset
            return
        try:
            found = await self.load(partition)
            if found == self._offset:
                await self._offsets("PATCH", change)
                return
        except CdcError as error:
            raise JobError(
                UNREADABLE,
                f"All rows were sent, but the end of the snapshot was not stored: {error} "
                f"Stop connector {self.name}, and run the command again with --name.",
            ) from error
        raise JobError(
            UNREADABLE,
            f"All rows were sent, but the end of the snapshot was not stored: the offset of connector {self.name} has changed, so it ran "
            "meanwhile, and older rows may have arrived after newer changes. Stop it, DELETE its offsets, and run the command again.",
        )

    async def _offsets(self, method: str, body: object = None) -> Any:
        try:
            return await self._call(method, f"{self._path}/offsets", body)
        except JobError as error:
            raise CdcError(ErrorKind.STORE, str(error).rstrip("."), "See that the connector stays STOPPED meanwhile") from error

    async def _call(self, method: str, path: str, body: object = None) -> Any:
        try:
            answer = await self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise JobError(UNREADABLE, f"{self.url} does not answer ({type(error).__name__}). Check --connect.") from error
        if answer.is_error:
            raise JobError(UNREADABLE, f"{self.url} answers {answer.status_code} to {method} {path}: {_said(answer)}")
        return answer.json() if answer.content else None


def _said(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (json.JSONDecodeError, KeyError, TypeError):
        return answer.reason_phrase
