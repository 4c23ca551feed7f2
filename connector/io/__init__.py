"""The connector's edges: PostgreSQL through libpq, Kafka through aiokafka, signal files, and patterns with a time limit."""
