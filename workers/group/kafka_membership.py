"""Membership of a Kafka consumer group: Kafka tracks the members, elects the leader and distributes the leader's decision.

aiokafka's consumer implements the protocol (joins, heartbeats, sessions, moving coordinators). An assignor of ours assigns connectors
instead of partitions: workers' claims and the leader's decision are user data, and no member is assigned a partition. The group's protocol
type is a consumer's, not Connect's. So a group that still has workers of Kafka Connect refuses this worker, and the reverse: the two
products never run the same connector.

A worker is a static member (KIP-345), named by its address. A killed worker that comes back within ``session.timeout.ms`` gets its former
assignment at once, without a new generation. A worker that ends normally leaves its group.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import uuid
from collections.abc import Mapping
from typing import Any, Final

from connector.io.kafka.client import client_arguments
from connector.log import EventLog
from connector.meters.connection_meter import Traffic
from workers.group.assignment import Assignment, Claim
from workers.group.membership import GroupMember

LOG: Final = EventLog(__name__)

_PROTOCOL: Final = "understudy"
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9._-]")
_LOOK_MS: Final = 1_000
"""How often the consumer is polled for a failure of its group, which it does not report otherwise."""
_RETRY_SECONDS: Final = 1.0
_LEAVE_SECONDS: Final = 5.0
_ALONE_SECONDS: Final = 0.05
_ALONE_LOOKS: Final = 100


class KafkaMembership:
    """:class:`workers.group.membership.Membership` of the group ``group_id``.

    Times are milliseconds. ``properties`` are the worker's, for the connection. ``topic`` is any topic that this worker may read.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        group_id: str,
        worker_id: str,
        topic: str,
        session_timeout_ms: int,
        heartbeat_interval_ms: int,
        rebalance_timeout_ms: int,
    ) -> None:
        self._options = client_arguments(properties)
        # Replaced by the client id below.
        self._options.pop("client_id", None)
        # A join waits at the broker for the other members, which may take the whole rebalance timeout.
        self._options["request_timeout_ms"] = max(self._options.get("request_timeout_ms", 40_000), rebalance_timeout_ms + 5_000)
        self._group_id = group_id
        self._worker_id = worker_id
        self._instance = _NOT_IN_A_NAME.sub("-", worker_id)
        # Distinguishes this process from a former process with the same address.
        self._client_id = f"understudy-{self._instance}-{uuid.uuid4().hex[:8]}"
        self._topic = topic
        self._timeouts = {
            "session_timeout_ms": session_timeout_ms,
            "heartbeat_interval_ms": heartbeat_interval_ms,
            "rebalance_timeout_ms": rebalance_timeout_ms,
        }
        self._consumer: Any = None
        self._tasks: list[asyncio.Task[None]] = []
        self._joined = False

    async def start(self, member: GroupMember) -> None:
        """Join in the background, and retry without a limit."""
        self._tasks.append(asyncio.create_task(self._take_part(member), name="group membership"))

    def rejoin(self) -> None:
        """Ask for a new generation."""
        if self._consumer is not None:
            from connector.io.kafka import aiokafka_internals  # noqa: PLC0415

            aiokafka_internals.request_rejoin(self._consumer)

    def traffic(self) -> dict[object, Traffic]:
        """The open connections of the member, and what each has carried."""
        if self._consumer is None:
            return {}
        from connector.io.kafka import aiokafka_internals  # noqa: PLC0415

        return aiokafka_internals.traffic(self._consumer)

    async def stop(self) -> None:
        """Leave. If the member stayed, a worker of Kafka Connect that starts next would end, because it stops at the first refusal."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await self._leave(consumer)
            await consumer.stop()

    async def _take_part(self, member: GroupMember) -> None:
        from aiokafka.errors import InconsistentGroupProtocolError, KafkaError  # noqa: PLC0415

        while True:
            try:
                if self._consumer is None:
                    self._consumer = await self._join(member)
                # The assignor receives the assignments. This call only raises failures.
                await self._consumer.getmany(timeout_ms=_LOOK_MS)
                continue
            except InconsistentGroupProtocolError:
                member.kept_out("Workers of Kafka Connect, or other consumers, still use this group.id.")
                LOG.warning(
                    "workers of kafka connect, or other consumers, still use this group.id; waiting until they end",
                    group_id=self._group_id,
                    seconds=_RETRY_SECONDS,
                )
            except Exception as problem:  # noqa: BLE001 (the worker must join after any failure)
                reason = "Kafka refuses it" if isinstance(problem, KafkaError) else "Its membership failed"
                member.kept_out(f"{reason}: {type(problem).__name__}.")
                LOG.warning(
                    "cannot join the group, trying again",
                    group_id=self._group_id,
                    error=f"{type(problem).__name__}: {problem}",
                    seconds=_RETRY_SECONDS,
                )
            await self._begin_again()
            await asyncio.sleep(_RETRY_SECONDS)

    async def _begin_again(self) -> None:
        """Let the consumer join once more. After a refused heartbeat it would only repeat the error."""
        consumer = self._consumer
        if consumer is None:
            return
        from connector.io.kafka import aiokafka_internals  # noqa: PLC0415

        if aiokafka_internals.coordinates(consumer):
            aiokafka_internals.request_rejoin(consumer)
            return
        self._consumer = None
        with contextlib.suppress(Exception):
            await consumer.stop()

    async def _join(self, member: GroupMember) -> Any:
        from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener  # noqa: PLC0415

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_revoked(self, _revoked: object) -> None:
                member.joining()

            def on_partitions_assigned(self, _assigned: object) -> None:
                """No-op: the assignor has reported the assignment."""

        consumer = AIOKafkaConsumer(
            client_id=self._client_id,
            group_id=self._group_id,
            group_instance_id=self._instance,
            enable_auto_commit=False,
            partition_assignment_strategy=(_Assignor(self, member),),
            **self._timeouts,
            **self._options,
        )
        try:
            await consumer.start()
        except BaseException:
            await consumer.stop()
            raise
        consumer.subscribe([self._topic], listener=Listener())
        self._tasks.append(asyncio.create_task(self._look_whether_alone(member), name="look whether alone"))
        return consumer

    async def _look_whether_alone(self, member: GroupMember) -> None:
        """Let the only worker start before the broker's delay of a first join ends (``group.initial.rebalance.delay.ms``).

        The coordinator registers a join before it answers a later query. So of two workers that join at the same time at least the later
        one sees both, and every later worker sees a worker that saw itself alone. That worker's join was the first, so it leads the next
        generation, and knows what it has begun (:meth:`workers.group.membership.GroupMember.assign`).
        """
        from aiokafka.admin import AIOKafkaAdminClient  # noqa: PLC0415
        from aiokafka.errors import KafkaError  # noqa: PLC0415

        admin = AIOKafkaAdminClient(client_id=self._client_id, **self._options)
        members: list[str] = []
        for _ in range(_ALONE_LOOKS):
            # The first group of a cluster has no coordinator at first.
            with contextlib.suppress(KafkaError):
                await admin.start()
                members = await self._members(admin)
            if self._client_id in members:
                break
            await asyncio.sleep(_ALONE_SECONDS)
        if members == [self._client_id]:
            member.alone()
        await admin.close()

    async def _members(self, admin: Any) -> list[str]:
        """The client ids of the group's members, including those that wait for the first generation."""
        (response,) = await admin.describe_consumer_groups([self._group_id])
        return [client for _, _, _, _, _, members, *_ in response.groups for _, client, *_ in members]

    async def _leave(self, consumer: Any) -> None:
        from aiokafka.errors import KafkaError  # noqa: PLC0415

        from connector.io.kafka import aiokafka_internals  # noqa: PLC0415

        try:
            async with asyncio.timeout(_LEAVE_SECONDS):
                await aiokafka_internals.leave_group(consumer, self._group_id)
        except (KafkaError, TimeoutError) as problem:
            LOG.warning("group not left, other workers take over when the session ends", error=type(problem).__name__)

    def joining(self) -> None:
        """A join begins. Log a warning if the group has removed this worker, which aiokafka does not report."""
        from connector.io.kafka import aiokafka_internals  # noqa: PLC0415

        if self._joined and not aiokafka_internals.member_id(self._consumer):
            LOG.warning(
                "worker was removed from its group: it sent no heartbeat for session.timeout.ms, "
                "or another worker advertises the same address",
                group_id=self._group_id,
                address=self._worker_id,
            )

    def assigned(self, member: GroupMember, data: bytes) -> None:
        """Pass the leader's decision to ``member``."""
        from connector.io.kafka import aiokafka_internals  # noqa: PLC0415

        try:
            assignment = Assignment.decode(data)
        except ValueError:
            LOG.error("assignment of the group's leader cannot be read, start all workers with one version")  # noqa: TRY400
            return
        self._joined = True
        member.assigned(assignment, aiokafka_internals.generation(self._consumer))


class _Assignor:
    """A partition assignor for aiokafka that calls a :class:`GroupMember`."""

    name = _PROTOCOL

    def __init__(self, membership: KafkaMembership, member: GroupMember) -> None:
        self._membership = membership
        self._member = member

    def metadata(self, topics: Any) -> Any:
        """The worker's claim."""
        from connector.io.kafka import aiokafka_internals  # noqa: PLC0415

        self._membership.joining()
        return aiokafka_internals.member_metadata(topics, self._member.claim().encode())

    def assign(self, _cluster: Any, members: Mapping[str, Any]) -> dict[str, Any]:
        """The leader's decision. Every member gets all of it."""
        from connector.io.kafka import aiokafka_internals  # noqa: PLC0415

        decision = self._member.assign([Claim.decode(metadata.user_data) for metadata in members.values()]).encode()
        return {member: aiokafka_internals.member_assignment(decision) for member in members}

    def on_assignment(self, assignment: Any) -> None:
        """A generation begins."""
        self._membership.assigned(self._member, assignment.user_data)
