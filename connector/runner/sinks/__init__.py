"""A task's way to Kafka: the producer, and what transforms and converts records before it."""
