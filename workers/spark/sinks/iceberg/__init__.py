"""Mirrors as Iceberg tables."""
