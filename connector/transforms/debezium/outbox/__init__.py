"""Debezium's outbox event router (Debezium documentation, "Outbox event router"): rows of a table become messages."""
