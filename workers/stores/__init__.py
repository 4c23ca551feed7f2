"""Kafka Connect's three internal topics as stores."""
