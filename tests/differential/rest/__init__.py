"""Sends the same random calls of REST to Kafka Connect and to a worker of Understudy: ``python -m tests.differential.rest``."""
