"""Notifications about snapshots, and the records that carry them. Imports :mod:`connector.incremental` and the rooms below it."""
