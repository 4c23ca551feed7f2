"""A connector's configuration, read once into typed values.

Only :func:`parse` creates a :class:`ConnectorConfig`. :mod:`connector.config.keys` describes the properties.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from typing import Any, Final

from connector.config.driver_settings import idle_settings
from connector.config.keys import ALIASES, BY_NAME, FORMER_VALUES, KEYS, Key, family_of
from connector.config.keys.families import NAMED
from connector.config.keys.named_classes import NamedClasses
from connector.config.keys.post_processors import ReselectRule, incomplete, post_processor_notices, reselect_rules
from connector.config.packed import (
    ColumnMask,
    FamilyProblem,
    KeyColumns,
    NamedConverter,
    ReplicaIdentity,
    column_converters,
    column_masks,
    driver_settings,
    key_columns,
    oddities,
    replica_identities,
    select_overrides,
    signal_topic,
    statements,
    stream_options,
    thread_multipliers,
    topic_creation,
)
from connector.config.validation import (
    Validation,
    connector_problems,
    error_lines,
    present_version,
    refusals,
    rename,
    strict_problems,
    unsupported_problems,
    validate,
    warning_lines,
)
from connector.configdef.patterns import split_regexes
from connector.configdef.validators import java_long
from connector.emulation import Emulation, emulation_of
from connector.errors import CdcError, ErrorKind
from connector.java.trim import trim

__all__ = ["ColumnMask", "ConnectorConfig", "KeyColumns", "ReplicaIdentity", "Validation", "error_lines", "parse", "validate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorConfig:
    """Every property of one connector. The attribute of ``a.b.c`` is ``a_b_c``; capitals become snake case.

    Properties of type LIST are tuples (empty if absent), numbers are int, other absent properties are None. Words of a fixed choice are in
    lower case and have their present names, whatever version is emulated. The name of a duration contains its unit. The representation
    shows no password, salt or pass-through setting.
    """

    raw: Mapping[str, str] = field(repr=False)
    """The configuration as it was given, with its secrets: never log it."""
    emulation: Emulation
    """The version of Debezium to emulate."""
    # Common
    name: str
    connector_class: str
    connector_plugin_version: str
    tasks_max: int
    tasks_max_enforce: bool
    key_converter: str
    key_converter_plugin_version: str
    value_converter: str
    value_converter_plugin_version: str
    header_converter: str
    header_converter_plugin_version: str
    # Transforms
    transforms: tuple[str, ...]
    # Predicates
    predicates: tuple[str, ...]
    # Common
    config_action_reload: str
    # Error Handling
    errors_retry_timeout: int
    errors_retry_delay_max_ms: int
    errors_tolerance: str
    errors_log_enable: bool
    errors_log_include_messages: bool
    # Topic Creation
    topic_creation_groups: tuple[str, ...]
    # Exactly Once Support
    exactly_once_support: str
    transaction_boundary: str
    transaction_boundary_interval_ms: int | None
    # offsets.topic
    offsets_storage_topic: str | None
    # Postgres
    topic_prefix: str
    database_hostname: str
    database_port: int
    database_user: str
    database_password: str | None = field(repr=False)
    database_dbname: str
    database_query_timeout_ms: int
    plugin_name: str | None
    slot_name: str
    publication_name: str
    publication_autocreate_mode: str
    replica_identity_autoset_values: str | None
    slot_drop_on_stop: bool
    slot_failover: bool
    slot_stream_params: str | None
    database_initial_statements: str | None
    database_sslmode: str
    database_sslcert: str | None
    database_sslpassword: str | None = field(repr=False)
    database_sslrootcert: str | None
    database_sslkey: str | None
    slot_max_retries: int
    slot_retry_delay_ms: int
    database_sslfactory: str | None
    status_update_interval_ms: int
    lsn_flush_timeout_ms: int
    lsn_flush_timeout_action: str
    database_tcp_keep_alive: bool
    xmin_fetch_interval_ms: int
    skipped_operations: tuple[str, ...]
    lsn_flush_mode: str
    # Connector
    event_processing_failure_handling_mode: str
    max_batch_size: int
    max_queue_size: int
    poll_interval_ms: int
    max_queue_size_in_bytes: int
    provide_transaction_metadata: bool
    snapshot_delay_ms: int
    streaming_delay_ms: int
    snapshot_include_collection_list: tuple[str, ...]
    snapshot_fetch_size: int | None
    snapshot_max_threads: int
    snapshot_max_threads_multiplier: int
    legacy_snapshot_max_threads: bool
    snapshot_mode_custom_name: str | None
    snapshot_mode_configuration_based_snapshot_data: bool
    snapshot_mode_configuration_based_snapshot_schema: bool
    snapshot_mode_configuration_based_start_stream: bool
    snapshot_mode_configuration_based_snapshot_on_schema_error: bool
    snapshot_mode_configuration_based_snapshot_on_data_error: bool
    retriable_restart_connector_wait_ms: int
    query_fetch_size: int
    errors_max_retries: int
    incremental_snapshot_watermarking_strategy: str
    internal_log_position_check_enable: bool
    internal_advanced_metrics_enable: bool
    connection_validation_timeout_ms: int
    executor_shutdown_timeout_ms: int
    openlineage_integration_enabled: bool
    openlineage_integration_config_file_path: str
    openlineage_integration_job_namespace: str | None
    openlineage_integration_job_description: str
    openlineage_integration_job_tags: tuple[str, ...]
    openlineage_integration_job_owners: tuple[str, ...]
    openlineage_integration_dataset_kafka_bootstrap_servers: str | None
    extended_headers_enabled: bool
    guardrail_collections_max: int
    guardrail_collections_limit_action: str
    custom_sanitize_pattern: str
    statistics_metrics_enabled: bool
    decimal_handling_mode: str
    time_precision_mode: str
    snapshot_lock_timeout_ms: int
    memory_management_schemas_class: str
    memory_management_tables_class: str
    snapshot_mode: str
    snapshot_isolation_mode: str
    snapshot_query_mode: str
    snapshot_query_mode_custom_name: str | None
    snapshot_locking_mode_custom_name: str | None
    snapshot_locking_mode: str
    hstore_handling_mode: str
    binary_handling_mode: str
    schema_name_adjustment_mode: str
    interval_handling_mode: str
    schema_refresh_mode: str
    incremental_snapshot_chunk_size: int
    unavailable_value_placeholder: str
    message_prefix_include_list: tuple[str, ...]
    message_prefix_exclude_list: tuple[str, ...]
    publish_via_partition_root: bool
    # Events
    converters: str | None
    post_processors: str | None
    tombstones_on_delete: bool
    heartbeat_interval_ms: int
    signal_data_collection: tuple[str, ...]
    signal_poll_interval_ms: int
    signal_enabled_channels: tuple[str, ...]
    topic_naming_strategy: str
    notification_enabled_channels: tuple[str, ...]
    notification_sink_topic_name: str | None
    transaction_metadata_factory: str
    custom_metric_tags: tuple[str, ...]
    column_include_list: tuple[str, ...]
    column_exclude_list: tuple[str, ...]
    table_include_list: tuple[str, ...]
    table_exclude_list: tuple[str, ...]
    table_ignore_builtin: bool
    schema_include_list: tuple[str, ...]
    schema_exclude_list: tuple[str, ...]
    message_key_columns: str | None
    snapshot_select_statement_overrides: str | None
    include_schema_comments: bool
    column_propagate_source_type: tuple[str, ...]
    datatype_propagate_source_type: tuple[str, ...]
    internal_snapshot_scan_all_columns_force: bool
    snapshot_tables_order_by_row_count: str
    heartbeat_action_query: str | None
    include_unknown_datatypes: bool
    sourceinfo_struct_maker: str
    # Unlisted
    read_only: bool
    database_connection_timeout_ms: int
    database_connection_factory_class: str | None
    offset_mismatch_strategy: str
    internal_create_slot_command_timeout: int
    skip_messages_without_change: bool
    money_fraction_digits: int
    field_name_adjustment_mode: str
    event_converting_failure_handling_mode: str
    topic_delimiter: str
    topic_cache_size: int
    topic_heartbeat_prefix: str
    topic_heartbeat_name: str | None
    topic_transaction: str
    topic_regex: str | None
    topic_replacement: str | None
    topic_key_enforce_uniqueness: bool
    topic_key_field_name: str
    topic_key_field_regex: str | None
    topic_key_field_replacement: str | None
    queue_provider_type: str
    poll_dispatch_interval_ms: int
    internal_custom_retriable_exception: str | None
    internal_offset_activity_monitor_interval_ms: int
    incremental_snapshot_allow_schema_changes: bool
    internal_signal_synchronous_batch_size: int
    internal_signal_processor_semaphore_wait_ms: int
    notification_http_url: str | None
    notification_http_timeout_ms: int
    notification_http_retries: int
    notification_http_allow_private_networks: bool
    signal_emit_failure_max_retries: int
    signal_emit_failure_backoff_ms: int
    incremental_snapshot_chunk_target_ms: int
    signal_actions: tuple[str, ...]
    signal_kafka_topic: str | None
    signal_kafka_bootstrap_servers: str | None
    signal_kafka_group_id: str
    signal_kafka_poll_timeout_ms: int
    signal_file: str
    database_include_list: tuple[str, ...]
    database_exclude_list: tuple[str, ...]
    include_schema_changes: bool
    source_struct_version: str | None
    transaction_topic: str | None
    # Properties with data in their names or in a special text form
    column_masks: tuple[ColumnMask, ...]
    """Masks, hashes and truncations of columns, in the order they were given."""
    column_converters: tuple[NamedConverter, ...]
    """``converters``, with the properties of each."""
    reselect_rules: tuple[ReselectRule, ...]
    """``post.processors``, with the properties of each."""
    key_columns: tuple[KeyColumns, ...]
    """``message.key.columns``, read."""
    replica_identities: tuple[ReplicaIdentity, ...]
    """``replica.identity.autoset.values``, read."""
    snapshot_select_overrides: Mapping[str, str]
    """Table (``schema.table``, as it was written) to the statement that reads it."""
    snapshot_thread_multipliers: Mapping[str, int]
    """Table (``schema.table``) to parts per thread."""
    slot_stream_options: Mapping[str, str]
    """``slot.stream.params``, read."""
    initial_statements: tuple[str, ...]
    """``database.initial.statements``, one by one."""
    topic_creation: Mapping[str, Mapping[str, str]]
    """Group (``default`` or one of ``topic.creation.groups``) to its settings (``partitions``, ``replication.factor``, ...)."""
    driver: Mapping[str, str] = field(repr=False)
    """Further connection settings, by the driver's own names; see :mod:`connector.config.driver_settings`."""


UNREAD: Final = frozenset(alias.old for alias in ALIASES if alias.known) | {
    key.name for key in KEYS if "(" in key.name or key.group in ("Engine", "Task", "Worker")
}
"""Rows of the table without an attribute: former names, patterns of names, and properties that other programs read."""
_ATTRIBUTES: Final = tuple((key.attribute, key) for key in KEYS if key.name not in UNREAD)
"""Each attribute and its row. Making the names at each call took a quarter of the time of :func:`parse` (0.3 of 1.3 ms)."""


_READERS: Final[tuple[Callable[[Mapping[str, str]], object], ...]] = (
    column_converters,
    key_columns,
    replica_identities,
    select_overrides,
    thread_multipliers,
    stream_options,
    topic_creation,
    signal_topic,
)


def parse(config: Mapping[str, str]) -> tuple[ConnectorConfig, list[str]]:
    """Read a configuration whose ``${...}`` references are resolved. Returns the result and lines for the log.

    The lines report former names, properties without effect and unknown properties; none holds a value that may be secret. Raises
    CdcError(CONFIG_INVALID), which lists every problem: those of :func:`validate`, and malformed values of properties that Connect does not
    validate.
    """
    known, later = _without_later(config)
    renamed = rename(known)
    settings = {name: value for name, value in renamed.settings.items() if value is not None}
    validation = validate(known)
    problems = [*error_lines(validation), *warning_lines(validation)]
    settings, unlisted, notices = _without_malformed(settings, validation)
    problems += [*unlisted, *(line for _, line in strict_problems(settings, validation.version))]
    emulation = emulation_of(validation.version)
    masks = partial(column_masks, emulation=emulation)
    readers: tuple[Callable[[Mapping[str, str]], object], ...] = (masks, *_READERS)
    problems += [problem for reader in readers for problem in _packed_problems(reader, settings)]
    problems += incomplete(settings, validation.version)
    if problems:
        # Use one line: clients show the first line of a task's trace.
        listed = "; ".join(" ".join(problem.split()) for problem in dict.fromkeys(problems))
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Connector configuration has {len(dict.fromkeys(problems))} error(s): {listed}",
            "Correct these properties and save the configuration again.",
        )
    # The table gives the types; a test compares them with the attributes.
    values: dict[str, Any] = {attribute: _value(key, settings.get(key.name, key.default)) for attribute, key in _ATTRIBUTES}
    values["connector_plugin_version"] = validation.version
    values["lsn_flush_mode"] = values["lsn_flush_mode"] or "connector"
    # Unset means that an existing slot's plugin, or one that the server has, takes precedence over the default.
    values["plugin_name"] = values["plugin_name"] if "plugin.name" in settings else None
    made = ConnectorConfig(
        **values,
        raw=dict(config),
        emulation=emulation,
        column_masks=masks(settings),
        column_converters=column_converters(settings),
        reselect_rules=reselect_rules(settings, validation.version),
        key_columns=key_columns(settings),
        replica_identities=replica_identities(settings),
        snapshot_select_overrides=select_overrides(settings),
        snapshot_thread_multipliers=thread_multipliers(settings),
        slot_stream_options=stream_options(settings),
        initial_statements=statements(settings.get("database.initial.statements", "")),
        topic_creation=topic_creation(settings),
        driver=driver_settings(settings),
    )
    notices += [*oddities(settings), *idle_settings(made.driver), *post_processor_notices(settings, validation.version)]
    return made, [*renamed.notices, *later, *notices, *_idle_notices(settings)]


def _without_later(config: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the configuration without the properties that the emulated version does not know, and a notice for each of these.

    It takes the names as they were given: a former name may be known where the present one is not.
    """
    version = present_version(config)
    later = {name for name in config if not _known_in(version, name)}
    notices = [f"Property {name} is unknown to version {version} and has no effect." for name in config if name in later]
    return {name: value for name, value in config.items() if name not in later}, notices


def _known_in(version: str, name: str) -> bool:
    key, present = BY_NAME.get(name), BY_NAME.get(_PRESENT_NAMES.get(name, name))
    return present is None or present.known_in(version) or (key is not None and version in key.versions)


def _packed_problems(reader: Callable[[Mapping[str, str]], object], settings: Mapping[str, str]) -> list[str]:
    try:
        reader(settings)
    except FamilyProblem as found:
        return found.problems
    return []


def _without_malformed(settings: Mapping[str, str], validation: Validation) -> tuple[dict[str, str], list[str], list[str]]:
    """Check the properties that Connect's validation does not list. Returns the remaining settings, problems and notices.

    Debezium silently uses the default for a malformed value of these properties. It is therefore an error only where Debezium fails.
    """
    listed = {field.name for field in validation.fields}
    kept = dict(settings)
    problems: list[str] = []
    notices: list[str] = []
    for name, value in settings.items():
        key = BY_NAME.get(name)
        if key is None or name in listed:
            continue
        found = connector_problems(key, value, settings, validation.version)
        if found and not key.strict:
            del kept[name]
            shown = "none" if key.default is None else key.default
            notices.append(f"Property {name} is malformed ({found[0]}); its default counts: {shown}.")
        elif not key.strict:
            read = key.read_only or validation.version in key.versions
            problems += unsupported_problems(key, settings) if read else refusals(key, value)
    return kept, problems, notices


def _value(key: Key, text: str | None) -> object:
    if key.type == "LIST":
        if text is None:
            return ()
        return tuple(split_regexes(text) if key.regexes else [entry.strip() for entry in text.split(",") if entry.strip()])
    if text is None or (key.default is None and not trim(text)):
        return None
    if key.type in ("INT", "LONG", "SHORT"):
        return java_long(trim(text))
    if key.type == "BOOLEAN":
        return trim(text).lower() == "true"
    if key.enumerated:
        word = trim(text).lower()
        return FORMER_VALUES.get(key.name, {}).get(word, word)
    return trim(text) if key.framework or key.type == "CLASS" else text


_PRESENT_NAMES: Final = {alias.old: alias.new for alias in ALIASES}
_MOST_UNKNOWN: Final = 100
_CUSTOM_MODES: Final = ("snapshot.mode", "snapshot.query.mode", "snapshot.locking.mode")


def _step_not_listed(name: str, listed: Mapping[str, Container[str]]) -> str | None:
    """Return why a property of a transformation or predicate has no effect, if ``listed`` does not contain the step."""
    listing, _, rest = name.partition(".")
    step = rest.partition(".")[0]
    return f"{listing} does not list {step}" if rest and step not in listed.get(listing, (step,)) else None


def _idle_notices(settings: Mapping[str, str]) -> list[str]:
    """Return a notice for each property without effect; after 100 unknown properties, one notice for the rest.

    The search for a similar name takes 0.2 ms.
    """
    notices: list[str] = []
    unknown = 0
    listed = {listing: {entry.strip() for entry in settings.get(listing, "").split(",")} for listing in ("transforms", "predicates")}
    named = [NamedClasses(settings.get(listing)) for listing in ("converters", "post.processors")]
    for name in settings:
        if name in _PRESENT_NAMES:
            # rename() has reported it.
            continue
        if (unlisted := _step_not_listed(name, listed)) is not None:
            notices.append(f"Property {name} has no effect: {unlisted}.")
            continue
        key = BY_NAME.get(name)
        about = key or (NAMED if any(names.owners(name) for names in named) else family_of(name))
        if about is None:
            unknown += 1
            if unknown > _MOST_UNKNOWN:
                continue
            near = get_close_matches(name, BY_NAME, n=1, cutoff=0.85)
            if not near and any(settings.get(mode, "").strip().lower() == "custom" for mode in _CUSTOM_MODES):
                # A user's class gets the whole configuration and may use the property.
                continue
            notices.append(f"Property {name} is unknown and has no effect" + (f"; did you mean {near[0]}?" if near else "."))
        elif about.support == "ignored" and not (key and key.group == "Task"):
            notices.append(f"Property {name} has no effect: {about.reason}.")
    if unknown > _MOST_UNKNOWN:
        notices.append(f"{unknown - _MOST_UNKNOWN} more properties are unknown and have no effect.")
    return notices
