"""Understudy's own figures, which neither Debezium nor Kafka Connect has: one table, shown to Prometheus and sent by OpenTelemetry."""
