"""Stores over Kafka Connect's three internal topics."""
