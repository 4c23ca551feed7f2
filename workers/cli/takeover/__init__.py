"""A Kafka Connect cluster before its migration: what its topics hold, what happens to each connector, and a rehearsal."""
