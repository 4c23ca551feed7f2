"""Properties that the connector reads although its ConfigDef does not list them, and properties of other programs without effect.

As in the real connector, ``PUT .../config/validate`` never shows them. A malformed value is reported when the task starts, and the default
is used.
"""

from __future__ import annotations

from typing import Final

from connector.configdef.key import Importance, Key, Support, Type, Validator
from connector.configdef.validators import boolean, class_name, integer, long

_ENGINE: Final = "A property of the embedded engine, which Kafka Connect does not use"
_WORKER: Final = "A property of the worker, which its own file sets"
_SPI: Final = "Java classes cannot be loaded"
_ONE_DATABASE: Final = "A connector captures the one of database.dbname"


def _row(
    name: str,
    kind: Type,
    default: str | None,
    importance: Importance,
    doc: str,
    *,
    ignored: str = "",
    refused: str = "",
    choices: tuple[str, ...] = (),
    allowed: tuple[str, ...] | None = None,
    group: str = "Unlisted",
    strict: bool = False,
    unknown_until_2: bool = False,
) -> Key:
    validators: dict[Type, tuple[Validator, ...]] = {
        "BOOLEAN": (boolean,),
        "INT": (integer,),
        "SHORT": (integer,),
        "LONG": (long,),
        "CLASS": (class_name,),
    }
    support: Support = "ignored" if ignored else "refused" if refused else "honoured"
    return Key(
        name,
        kind,
        default,
        importance,
        name,
        doc,
        group=group,
        choices=choices,
        validators=validators.get(kind, ()),
        versions=(),
        support=support,
        reason=ignored or refused,
        allowed=allowed,
        strict=strict,
        unknown_until_2=unknown_until_2,
    )


UNLISTED: Final[tuple[Key, ...]] = (
    _row(
        "read.only",
        "BOOLEAN",
        "false",
        "LOW",
        "Never write to the database: incremental snapshots then take their watermarks from WAL positions.",
    ),
    _row(
        "database.connection.timeout.ms",
        "INT",
        "600000",
        "LOW",
        "How long opening a connection may take, in milliseconds.",
    ),
    _row(
        "database.connection.factory.class",
        "CLASS",
        None,
        "LOW",
        "Java class that opens connections, for instance with tokens of a cloud.",
        refused=_SPI,
        allowed=("",),
        strict=True,
    ),
    _row(
        "offset.mismatch.strategy",
        "STRING",
        "no_validation",
        "LOW",
        "What to do when the slot and the stored offset disagree: nothing (no_validation), move the slot to the offset (trust_offset), "
        "start from the slot (trust_slot), or from the later one (trust_greater_lsn).",
        choices=("no_validation", "trust_offset", "trust_slot", "trust_greater_lsn"),
        unknown_until_2=True,
    ),
    _row(
        "internal.create.slot.command.timeout",
        "LONG",
        "90",
        "LOW",
        "How long creating the slot or the publication may take, in seconds.",
    ),
    _row(
        "skip.messages.without.change",
        "BOOLEAN",
        "false",
        "MEDIUM",
        "Leave out updates that change no captured column; the table needs replica identity FULL.",
    ),
    _row(
        "money.fraction.digits",
        "SHORT",
        "2",
        "LOW",
        "Digits after the point in money values.",
    ),
    _row(
        "field.name.adjustment.mode",
        "STRING",
        "none",
        "LOW",
        "Whether characters that Avro forbids are replaced in field names.",
        choices=("none", "avro", "avro_unicode"),
        strict=True,
    ),
    _row(
        "event.converting.failure.handling.mode",
        "STRING",
        "warn",
        "MEDIUM",
        "What follows when a single value cannot be converted: the task fails (fail), or the value is null with (warn) or without (skip) "
        "a line in the log.",
        choices=("skip", "warn", "fail"),
        unknown_until_2=True,
    ),
    _row("topic.delimiter", "STRING", ".", "LOW", "Separator of the parts of a topic name."),
    _row("topic.cache.size", "INT", "10000", "LOW", "Topic names that are remembered.", ignored="A table's topic name is made once"),
    _row("topic.heartbeat.prefix", "STRING", "__debezium-heartbeat", "LOW", "First part of the heartbeat topic; topic.prefix follows."),
    _row("topic.heartbeat.name", "STRING", None, "LOW", "Whole name of the heartbeat topic.", unknown_until_2=True),
    _row("topic.transaction", "STRING", "transaction", "LOW", "Last part of the transaction topic; topic.prefix comes first."),
    _row("topic.regex", "STRING", None, "LOW", "Pattern of the topics that regex naming strategies rename.", ignored=_SPI),
    _row("topic.replacement", "STRING", None, "LOW", "What regex naming strategies rename topics to.", ignored=_SPI),
    _row("topic.key.enforce.uniqueness", "BOOLEAN", "true", "LOW", "Add the table to keys of merged topics.", ignored=_SPI),
    _row("topic.key.field.name", "STRING", "__dbz__physicalTableIdentifier", "LOW", "Name of that key field.", ignored=_SPI),
    _row("topic.key.field.regex", "STRING", None, "LOW", "Pattern that makes the value of that key field.", ignored=_SPI),
    _row("topic.key.field.replacement", "STRING", None, "LOW", "Replacement that makes the value of that key field.", ignored=_SPI),
    _row(
        "queue.provider.type",
        "STRING",
        "memory",
        "LOW",
        "Where the Java connector keeps its queue.",
        ignored="Events in flight are held in memory only",
    ),
    _row(
        "poll.dispatch.interval.ms",
        "LONG",
        "0",
        "MEDIUM",
        "How long the Java connector gathers events before each poll, in milliseconds.",
        ignored="Events are sent as they arrive; nothing polls",
    ),
    _row(
        "internal.custom.retriable.exception",
        "STRING",
        None,
        "LOW",
        "Regular expression of error messages to treat as transient.",
        ignored="Java's messages do not occur; every error has its own kind",
    ),
    _row(
        "internal.offset.activity.monitor.interval.ms",
        "LONG",
        "600000",
        "LOW",
        "Time after which the log reports that the offset has not advanced, in milliseconds; 0 disables the report.",
        ignored="The offset's age is a metric",
    ),
    _row(
        "incremental.snapshot.allow.schema.changes",
        "BOOLEAN",
        "false",
        "LOW",
        "Allow tables to change during an incremental snapshot.",
        ignored="Tables may always change during one; it has no effect for PostgreSQL in the Java connector either",
    ),
    _row(
        "internal.signal.synchronous.batch.size",
        "INT",
        "10",
        "LOW",
        "Signals that the Java connector performs between two batches of changes.",
        ignored="Signals are performed as they come",
    ),
    _row(
        "internal.signal.processor.semaphore.wait.ms",
        "LONG",
        "10000",
        "LOW",
        "How long the Java connector's signals wait for its stream, in milliseconds.",
        ignored="Signals do not wait for the stream",
    ),
    _row(
        "notification.http.url",
        "STRING",
        None,
        "HIGH",
        "Address to which the notification channel `http` posts each notification as JSON.",
    ),
    _row("notification.http.timeout.ms", "INT", "5000", "LOW", "How long one request of that channel may take, in milliseconds."),
    _row("notification.http.retries", "INT", "2", "LOW", "Further attempts of that channel for one notification."),
    _row(
        "notification.http.allow.private.networks",
        "BOOLEAN",
        "false",
        "LOW",
        "Let that channel post to addresses of this machine and of private networks.",
    ),
    _row("signal.emit.failure.max.retries", "INT", "0", "MEDIUM", "Further attempts to write a watermark."),
    _row("signal.emit.failure.backoff.ms", "LONG", "10000", "MEDIUM", "Pause between these attempts, in milliseconds."),
    _row(
        "incremental.snapshot.chunk.target.ms",
        "INT",
        "0",
        "LOW",
        "How long the reading of a chunk shall take, in milliseconds: chunks grow from incremental.snapshot.chunk.size, to 64 times as many"
        " rows at most, or shrink again. 0 keeps their size. A property of this connector alone.",
    ),
    _row(
        "signal.actions",
        "LIST",
        None,
        "LOW",
        "Classes in Python that perform signals of further types: entry points of the group understudy.signal_actions, or"
        " package.module:Class. A property of this connector alone.",
    ),
    _row("signal.kafka.topic", "STRING", None, "HIGH", "Topic of the signal channel `kafka`; without it, <topic.prefix>-signal."),
    _row("signal.kafka.bootstrap.servers", "STRING", None, "HIGH", "Kafka cluster of that topic; the channel `kafka` needs it."),
    _row("signal.kafka.groupId", "STRING", "kafka-signal", "LOW", "Consumer group that remembers how far that topic was read."),
    _row(
        "signal.kafka.poll.timeout.ms",
        "INT",
        "0",
        "LOW",
        "How long one read of that topic waits.",
        ignored="Signals are taken from the topic as they come",
    ),
    _row(
        "signal.file",
        "STRING",
        "file-signals.txt",
        "LOW",
        "File of the signal channel `file`: a signal a line. It is emptied by reading. It lies in the worker's `signal.file.directory`.",
    ),
    _row("database.include.list", "LIST", None, "LOW", "Databases to capture.", ignored=_ONE_DATABASE),
    _row(
        "database.exclude.list",
        "LIST",
        None,
        "LOW",
        "Databases to leave out.",
        ignored=_ONE_DATABASE,
    ),
    _row("include.schema.changes", "BOOLEAN", "true", "MEDIUM", "Write a topic of DDL.", ignored="PostgreSQL's log holds no DDL"),
    _row("source.struct.version", "STRING", None, "LOW", "Form of the source block.", ignored="There is one form since 2.0"),
    _row("transaction.topic", "STRING", None, "LOW", "Whole name of the transaction topic.", ignored="Use topic.transaction"),
    _row("task.class", "CLASS", None, "LOW", "Set by Kafka Connect in a task's configuration.", ignored="Set by the worker", group="Task"),
    _row("task.id", "STRING", None, "LOW", "Number of the task.", ignored="Set by the worker", group="Task"),
    *(
        _row(name, "STRING", None, "LOW", "Setting of the embedded engine.", ignored=_ENGINE, group="Engine")
        for name in (
            "offset.storage",
            "offset.commit.policy",
            "record.processing.threads",
            "record.processing.order",
            "record.processing.shutdown.timeout.ms",
            "record.processing.with.serial.consumer",
            "errors.retry.delay.initial.ms",
        )
    ),
    *(
        _row(name, "STRING", None, "LOW", "Setting of the worker.", ignored=_WORKER, group="Worker")
        for name in (
            "topic.creation.enable",
            "plugin.path",
            "offset.storage.file.filename",
            "offset.storage.topic",
            "offset.storage.partitions",
            "offset.storage.replication.factor",
            "offset.flush.interval.ms",
            "offset.flush.timeout.ms",
        )
    ),
    *(
        _row(name, "STRING", None, "LOW", "Setting of workers before Kafka 3.0.", ignored=_WORKER, group="Worker")
        for name in (
            "internal.key.converter",
            "internal.key.converter.schemas.enable",
            "internal.value.converter",
            "internal.value.converter.schemas.enable",
        )
    ),
)
