"""Kafka Connect's REST dialect over a :class:`~connect_api.herder.Herder`; it imports nothing of the worker."""
