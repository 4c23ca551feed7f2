"""The replication connection. psycopg has no replication API, so this module drives libpq's COPY BOTH.

PostgreSQL manual, 55.4 Streaming Replication Protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

import psycopg
from psycopg import pq

from connector.catalog.identifiers import quote_identifier, quote_literal
from connector.errors import CdcError, ErrorKind
from connector.io.postgres.connection import Connection, source_error
from connector.io.postgres.copy import CopyReader, send_command
from connector.io.postgres.statement import flush
from connector.preflight.server import no_replication_protocol
from connector.wire.lsn import format_lsn, parse_lsn
from connector.wire.pgoutput import standby_status


@dataclass(frozen=True, slots=True)
class CreatedSlot:
    """A new slot. A stream from ``consistent_point`` begins exactly where the exported ``snapshot`` ends."""

    name: str
    consistent_point: int
    snapshot: str | None


def _slot_not_ready(name: str, seconds: int, *, standby: bool) -> CdcError:
    """Return the error for a slot whose creation took too long: on a ``standby`` it needs WAL that an idle primary does not write."""
    message = f"Replication slot {name} was not ready within {seconds} s"
    if standby:
        message += ": the server is a standby, and its primary has not written the list of its open transactions"
        remedy = "Run SELECT pg_log_standby_snapshot(); on the primary while the task waits"
    else:
        remedy = "End old transactions (pg_stat_activity, pg_prepared_xacts), or raise internal.create.slot.command.timeout"
    return CdcError(ErrorKind.SOURCE_TIMEOUT, message, remedy)


class Replication:
    """A connection in ``replication=database`` mode. After :meth:`start` it is a :class:`connector.ports.ReplicationStream`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._reader: CopyReader | None = None
        self.translate: Callable[[list[bytes]], Awaitable[list[bytes]]] | None = None
        """Converts another output plugin's frames to pgoutput's form; None for pgoutput itself."""

    async def create_slot(
        self, name: str, plugin: str, *, temporary: bool = False, failover: bool = False, timeout_s: int = 90
    ) -> CreatedSlot:
        """Run ``CREATE_REPLICATION_SLOT`` with an exported snapshot, which is valid until this connection's next command.

        The server waits for the end of open transactions. Raises CdcError: SOURCE_TIMEOUT after ``timeout_s`` (0 sets no limit), or the
        server's error.
        """
        options = " ".join(("TEMPORARY" if temporary else "", "LOGICAL", plugin)).strip()
        tail = " (FAILOVER)" if failover else " EXPORT_SNAPSHOT"
        try:
            await self._connection.execute(f"SET lock_timeout = {timeout_s * 1000}".encode())
            await self._connection.execute(f"SET statement_timeout = {timeout_s * 1000}".encode())
            # The exported snapshot is an open and idle transaction until another session has imported it.
            await self._connection.execute(b"SET idle_in_transaction_session_timeout = 0")
            # A standby that waits for its primary's WAL heeds neither timeout, but it can be cancelled.
            async with asyncio.timeout(timeout_s or None):
                cursor = await self._connection.execute(f"CREATE_REPLICATION_SLOT {quote_identifier(name)} {options}{tail}".encode())
            row = await cursor.fetchone()
        except (TimeoutError, psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled) as error:
            standby = self._connection.info.parameter_status("in_hot_standby") == "on"
            raise _slot_not_ready(name, timeout_s, standby=standby) from error
        except (psycopg.errors.UndefinedFile, psycopg.errors.InsufficientPrivilege) as error:
            unlisted = "output_plugin_libraries" in (error.diag.message_hint or "")
            if not unlisted and isinstance(error, psycopg.errors.InsufficientPrivilege):
                raise source_error(error, f"creating replication slot {name}") from error
            raise CdcError(
                ErrorKind.SOURCE_OBJECT_MISSING,
                f"Replication slot {name} cannot be made: the server {'allows no' if unlisted else 'has no'} output plugin {plugin}",
                ("Add it to output_plugin_libraries and reload" if unlisted else "Install it in")
                + " the server, or set plugin.name=pgoutput",
                f"SQLSTATE {error.sqlstate}",
            ) from error
        except psycopg.errors.SyntaxError as error:
            # A pooler ignored the startup parameter and provided an ordinary session, which does not know the command.
            info = self._connection.info
            raise no_replication_protocol(f"{info.host}:{info.port}") from error
        except psycopg.Error as error:
            raise source_error(error, f"creating replication slot {name}") from error
        if row is None:
            raise CdcError(ErrorKind.PROTOCOL, f"The server answered nothing to the creation of slot {name}")
        return CreatedSlot(row[0], parse_lsn(row[1]), row[2])

    async def drop_slot(self, name: str) -> None:
        """Run ``DROP_REPLICATION_SLOT``, which waits until the slot is free. Raises CdcError."""
        try:
            await self._connection.execute(f"DROP_REPLICATION_SLOT {quote_identifier(name)} WAIT".encode())
        except psycopg.Error as error:
            raise source_error(error, f"dropping replication slot {name}") from error

    async def start(self, slot: str, lsn: int, options: Mapping[str, str]) -> None:
        """Run ``START_REPLICATION``. The server sends every transaction that ends after ``lsn``; 0 is the slot's LSN. Raises CdcError."""
        given = ", ".join(f"{quote_identifier(key)} {quote_literal(value)}" for key, value in options.items())
        listed = f" ({given})" if given else ""
        command = f"START_REPLICATION SLOT {quote_identifier(slot)} LOGICAL {format_lsn(lsn)}{listed}"
        doing = f"starting replication from slot {slot}"
        try:
            await send_command(self._connection, command, pq.ExecStatus.COPY_BOTH, doing, alone=False)
        except CdcError as error:
            if error.kind is not ErrorKind.SOURCE_INTERNAL:
                raise
            # pgoutput reports an unknown option as an internal error. It would refuse it again.
            raise replace(error, kind=ErrorKind.SOURCE_QUERY, remedy="Correct slot.stream.params, or see the server's log") from error
        self._reader = CopyReader(self._connection, f"streaming from slot {slot}")

    async def frames(self, most: int, most_bytes: int, until: float = 0.0) -> list[bytes]:
        """Return the frames that have arrived; wait for the first, and before ``until`` for more.

        Raises CdcError(SOURCE_CONNECTION_LOST) at the end of the stream.
        """
        if self._reader is None:
            raise RuntimeError("The stream was not started")
        frames = await self._reader.burst(most, most_bytes, until)
        if not frames:
            raise CdcError(
                ErrorKind.SOURCE_CONNECTION_LOST, "PostgreSQL ended the replication stream", "Nothing to do: the task starts it again"
            )
        return frames if self.translate is None else await self.translate(frames)

    async def confirm(self, written: int, flushed: int, now_ns: int) -> None:
        """Send a standby status update (:func:`connector.wire.pgoutput.standby_status`). Raises CdcError."""
        await self._send_status(written, flushed, now_ns, ask=False)

    async def ask(self, written: int, flushed: int, now_ns: int) -> None:
        """Send a standby status update that the server answers with a keepalive at once. Raises CdcError."""
        await self._send_status(written, flushed, now_ns, ask=True)

    async def _send_status(self, written: int, flushed: int, now_ns: int, *, ask: bool) -> None:
        try:
            self._connection.pgconn.put_copy_data(standby_status(written, flushed, now_ns // 1000, reply=ask))
            await flush(self._connection)
        except psycopg.Error as error:
            raise source_error(error, "confirming to the replication slot") from error

    async def close(self) -> None:
        """End the stream, which frees the slot at once, and disconnect."""
        try:
            if self._reader is not None and not self._reader.ended and self._connection.pgconn.status == pq.ConnStatus.OK:
                self._connection.pgconn.put_copy_end()
                await flush(self._connection)
        except psycopg.Error:
            # The connection is broken, so the server frees the slot by itself.
            pass
        finally:
            # Also where a cancellation ends the wait: the slot would stay busy as long as the connection is open.
            await self._connection.close()
