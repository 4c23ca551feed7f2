"""Converters: from a Connect value with its schema to the bytes of a key, a value or a header.

One file each. Imports :mod:`connector.record` and the rooms below it.
"""
