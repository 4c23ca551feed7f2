"""Kafka Connect's data model: schemas, values as JSON, and Kafka record batches.

Imports :mod:`connector.java` and the errors and ports.
"""
