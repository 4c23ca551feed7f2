"""How fast a worker is, and what it costs: ``python -m workers.bench``.

Everything goes through what any user has: Connect's REST interface, rows written to PostgreSQL, a consumer of the topic, and
/proc. So the same program measures Understudy and any other Kafka Connect with a Debezium PostgreSQL connector.
"""
