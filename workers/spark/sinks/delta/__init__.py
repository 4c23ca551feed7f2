"""Mirrors as Delta tables."""
