"""Debezium's transforms (Debezium documentation, "Transformations")."""
