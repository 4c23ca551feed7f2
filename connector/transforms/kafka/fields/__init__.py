"""Kafka's transforms that change the fields of a key or value."""
