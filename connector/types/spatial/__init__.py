"""Geometric types, and PostGIS' types, as Debezium's structs."""
