"""Transforms that choose the partition of an event."""
