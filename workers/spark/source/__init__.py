"""Queries to the source database."""
