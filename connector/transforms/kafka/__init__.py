"""Kafka's transforms and predicates (Kafka documentation, section 8.2 "Transformations"; KIP-66, KIP-585)."""
