"""Measures the speed of a worker and its use of resources: ``python -m workers.lab.bench``.

It uses only public interfaces: Connect's REST interface, rows written to PostgreSQL, a consumer of the topic, and
/proc. So the same program measures Understudy and any other Kafka Connect with a Debezium PostgreSQL connector.
"""
