"""What a connector's configuration says of its metrics."""

from __future__ import annotations

from connector.config.connector_config import ConnectorConfig
from connector.meters.task_meters import MeterSettings


def meter_settings(config: ConnectorConfig) -> MeterSettings:
    """Return the settings of the connector's meters."""
    tags = (tag.partition("=") for tag in config.custom_metric_tags)
    return MeterSettings(
        config.topic_prefix,
        tuple((name.strip(), value.strip()) for name, _, value in tags),
        by_table=config.internal_advanced_metrics_enable,
        statistics=config.statistics_metrics_enabled,
        skips_unchanged=config.skip_messages_without_change,
        queue_size=config.max_queue_size,
        queue_bytes=config.max_queue_size_in_bytes,
    )
