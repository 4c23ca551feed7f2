"""Topics: from Kafka's bytes to typed changes."""
