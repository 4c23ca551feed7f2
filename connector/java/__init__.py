"""Formats of Java programs: printed numbers, orders of maps, serialized objects, regular expressions.

Imports nothing of the connector.
"""
