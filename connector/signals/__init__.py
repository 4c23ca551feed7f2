"""Signals: requests to a running connector. Imports :mod:`connector.start` and the rooms below it."""
