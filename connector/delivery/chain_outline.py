"""What a chain of usual transforms does to the events of one topic, found once, so that their bytes can be written without values.

The usual transforms are RegexRouter, ByLogicalTableRouter and ExtractNewRecordState. What they do depends on the topic and the schemas
alone, as long as their predicates do too.
"""

from __future__ import annotations

from dataclasses import dataclass

from connector.record.connect_record import ConnectRecord
from connector.record.schema import Schema
from connector.transforms.chain import Chain, Step
from connector.transforms.debezium.by_logical_table_router import ByLogicalTableRouter
from connector.transforms.debezium.new_record_state.extract_new_record_state import ExtractNewRecordState
from connector.transforms.debezium.new_record_state.field_reference import ResolvedField
from connector.transforms.kafka.predicates import TopicNameMatches
from connector.transforms.kafka.regex_router import RegexRouter


@dataclass(slots=True)
class Outline:
    """How the chain changes events with a new row and no old one. Schemas that stay as they are stay the same objects."""

    topic: str
    key: Schema | None
    value: Schema
    key_members: tuple[tuple[str, str], ...] = ()
    """Names and values of the members that follow those of the key."""
    added: tuple[tuple[str, ResolvedField | None], ...] | None = None
    """Where the row takes the event's place: names and origins of the fields that follow the row's; None for the mark ``__deleted``."""


def is_outlined(chain: Chain) -> bool:
    """Whether all steps of the chain are among those that this module knows."""
    unwraps = [step for step in chain.steps if isinstance(step.transform, ExtractNewRecordState)]
    return len(unwraps) <= 1 and all(_known(step) for step in chain.steps)


def _known(step: Step) -> bool:
    if step.predicate is not None and not isinstance(step.predicate, TopicNameMatches):
        return False
    if isinstance(step.transform, ExtractNewRecordState):
        # Nulls are defaults in what the core writes for the fast path of JSON.
        return not step.transform.tells_null_from_default
    return isinstance(step.transform, RegexRouter | ByLogicalTableRouter)


def outline(chain: Chain, topic: str, key: Schema | None, envelope: Schema, *, nulls_are_defaults: bool) -> Outline | None:
    """Return what the chain does to the events of ``topic``; None where that depends on more. Raises DataError where a step would.

    ``nulls_are_defaults``: the converter writes a default in place of null, so that it makes no difference who fills it in.
    """
    found = Outline(topic, key, envelope)
    for step in chain.steps:
        named = ConnectRecord(found.topic)
        if step.predicate is not None and step.predicate.test(named) == step.negate:
            continue
        if isinstance(step.transform, RegexRouter):
            found.topic = step.transform.apply(named).topic
        elif isinstance(step.transform, ByLogicalTableRouter):
            routed = step.transform.routed(found.topic, found.key, found.value, nulls_are_defaults=nulls_are_defaults)
            if routed is None:
                return None
            found.topic, found.key, found.value = routed.topic, routed.key, routed.value
            found.key_members += routed.key_members
        elif isinstance(step.transform, ExtractNewRecordState):
            added = step.transform.added_to_rows(found.value, nulls_are_defaults=nulls_are_defaults)
            if added is None:
                return None
            kept = step.transform.kept_schema(found.value)
            names = [each.name for each in kept.fields[len(kept.fields) - len(added) :]]
            found.value, found.added = kept, tuple(zip(names, added, strict=True))
    return found
