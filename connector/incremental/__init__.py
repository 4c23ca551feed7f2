"""Incremental snapshots: the tables that remain, the next chunk, and its window between two watermarks.

Imports :mod:`connector.signals` and the rooms below it.
"""
