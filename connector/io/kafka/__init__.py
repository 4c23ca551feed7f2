"""Kafka through aiokafka: producers, topics and logins."""
