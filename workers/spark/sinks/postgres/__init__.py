"""Mirrors in a PostgreSQL database."""
