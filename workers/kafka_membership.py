"""Membership of a Kafka consumer group: Kafka knows who is there, elects the leader and hands its decision to all.

aiokafka's consumer owns the protocol (joins, heartbeats, sessions, coordinators that move). It is given an assignor of ours that
shares out connectors where its own would share out partitions: what workers bring and what the leader decides travel as user data,
and nobody is assigned a partition. The kind of the group is a consumer's, not Connect's own: a group id under which workers of Kafka
Connect still run refuses this worker, and this worker's refuses them, so that the two never run one connector.

A worker is a static member (KIP-345), named by its address. One that was killed and comes back within ``session.timeout.ms`` gets
what it had at once, and the others notice nothing. One that ends in order leaves its group.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import uuid
from collections.abc import Mapping
from typing import Any, Final

from connector.io.kafka_client import client_arguments
from workers.assignment import Assignment, Claim
from workers.membership import Member

LOGGER: Final = logging.getLogger(__name__)

_PROTOCOL: Final = "understudy"
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9._-]")
_LOOK_MS: Final = 1_000
"""How often the consumer is asked whether its group has failed; it tells nobody of itself."""
_RETRY_SECONDS: Final = 1.0
_LEAVE_SECONDS: Final = 5.0
_ALONE_SECONDS: Final = 0.05
_ALONE_LOOKS: Final = 100


class KafkaMembership:
    """:class:`workers.membership.Membership` of the group ``group_id``. ``topic`` is any topic this worker may read.

    Times are milliseconds. ``properties`` are the worker's, for the connection.
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
        # It has a name of its own, below.
        self._options.pop("client_id", None)
        # A member may wait at the broker for as long as the others have to join.
        self._options["request_timeout_ms"] = max(self._options.get("request_timeout_ms", 40_000), rebalance_timeout_ms + 5_000)
        self._group_id = group_id
        self._worker_id = worker_id
        self._instance = _NOT_IN_A_NAME.sub("-", worker_id)
        # Tells this process's membership from that of a former process of the same address.
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

    async def start(self, member: Member) -> None:
        """Join in the background, trying as long as it takes."""
        self._tasks.append(asyncio.create_task(self._take_part(member), name="group membership"))

    def rejoin(self) -> None:
        """Ask for a new generation."""
        if self._consumer is not None:
            self._consumer._coordinator.request_rejoin()  # noqa: SLF001 (pinned; it has no public way to ask)

    async def stop(self) -> None:
        """Leave. A place that is kept would end a worker of Kafka Connect that starts in the meantime: it gives up at the first refusal."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await self._leave(consumer)
            await consumer.stop()

    async def _take_part(self, member: Member) -> None:
        from aiokafka.errors import InconsistentGroupProtocolError, KafkaError  # noqa: PLC0415

        while True:
            try:
                if self._consumer is None:
                    self._consumer = await self._join(member)
                # Its assignments come by the assignor; this call only brings what has gone wrong.
                await self._consumer.getmany(timeout_ms=_LOOK_MS)
            except InconsistentGroupProtocolError:
                member.kept_out("Workers of Kafka Connect, or other consumers, still use this group.id.")
                LOGGER.warning(
                    "workers of kafka connect, or other consumers, still use this group.id; waiting until they have ended",
                    extra={"fields": {"group_id": self._group_id, "seconds": _RETRY_SECONDS}},
                )
                await asyncio.sleep(_RETRY_SECONDS)
            except KafkaError as problem:
                member.kept_out(f"Kafka does not let it: {type(problem).__name__}.")
                LOGGER.warning(
                    "cannot take part in the group, trying again",
                    extra={
                        "fields": {"group_id": self._group_id, "error": f"{type(problem).__name__}: {problem}", "seconds": _RETRY_SECONDS}
                    },
                )
                await asyncio.sleep(_RETRY_SECONDS)

    async def _join(self, member: Member) -> Any:
        from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener  # noqa: PLC0415

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_revoked(self, _revoked: object) -> None:
                member.joining()

            def on_partitions_assigned(self, _assigned: object) -> None:
                """The assignor has told it already."""

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

    async def _look_whether_alone(self, member: Member) -> None:
        """Spare the only worker the seconds for which a broker holds a first join back (``group.initial.rebalance.delay.ms``).

        The coordinator registers this join before it answers any later look: of two workers that come at the same time at least the
        later sees both. A worker that sees itself alone is seen by all who come after it.
        """
        from aiokafka.admin import AIOKafkaAdminClient  # noqa: PLC0415
        from aiokafka.errors import KafkaError  # noqa: PLC0415

        admin = AIOKafkaAdminClient(client_id=self._client_id, **self._options)
        members: list[str] = []
        for _ in range(_ALONE_LOOKS):
            # The first group of a cluster has no coordinator for a moment.
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
        """The client ids of the group's members, those included that wait for its first generation."""
        (response,) = await admin.describe_consumer_groups([self._group_id])
        return [client for _, _, _, _, _, members, *_ in response.groups for _, client, *_ in members]

    async def _leave(self, consumer: Any) -> None:
        from aiokafka.errors import KafkaError  # noqa: PLC0415
        from aiokafka.protocol.group import LeaveGroupRequest  # noqa: PLC0415

        coordinator = consumer._coordinator  # noqa: SLF001 (aiokafka lets no static member leave)
        try:
            async with asyncio.timeout(_LEAVE_SECONDS):
                await coordinator._send_req(LeaveGroupRequest(self._group_id, coordinator.member_id))  # noqa: SLF001
        except (KafkaError, TimeoutError) as problem:
            LOGGER.warning(
                "could not leave the group: others take over when the session ends", extra={"fields": {"error": type(problem).__name__}}
            )

    def joining(self) -> None:
        """A join begins: say so if the group has forgotten this worker, which nobody else would."""
        if self._joined and not self._consumer._coordinator.member_id:  # noqa: SLF001
            LOGGER.warning(
                "the group does not know this worker any more: it was silent for longer than session.timeout.ms, "
                "or another worker advertises the same address",
                extra={"fields": {"group_id": self._group_id, "address": self._worker_id}},
            )

    def assigned(self, member: Member, data: bytes) -> None:
        """Tell ``member`` what its leader decided."""
        try:
            assignment = Assignment.decode(data)
        except ValueError:
            LOGGER.error("what the group's leader decided cannot be read: do all workers run the same version?")  # noqa: TRY400
            return
        self._joined = True
        member.assigned(assignment, self._consumer._coordinator.generation)  # noqa: SLF001


class _Assignor:
    """What aiokafka asks of a partition assignor, answered by a :class:`Member`."""

    name = _PROTOCOL

    def __init__(self, membership: KafkaMembership, member: Member) -> None:
        self._membership = membership
        self._member = member

    def metadata(self, topics: Any) -> Any:
        """What this worker brings."""
        from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata  # noqa: PLC0415

        self._membership.joining()
        return ConsumerProtocolMemberMetadata(0, list(topics), self._member.claim().encode())

    def assign(self, _cluster: Any, members: Mapping[str, Any]) -> dict[str, Any]:
        """As the leader: one decision, which every member gets whole."""
        from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment  # noqa: PLC0415

        decision = self._member.assign([Claim.decode(metadata.user_data) for metadata in members.values()]).encode()
        return {member: ConsumerProtocolMemberAssignment(0, [], decision) for member in members}

    def on_assignment(self, assignment: Any) -> None:
        """A generation begins."""
        self._membership.assigned(self._member, assignment.user_data)
