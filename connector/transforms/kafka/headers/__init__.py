"""Kafka's transforms that add headers or take them out (KIP-440)."""
