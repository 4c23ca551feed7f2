"""Compares a mirror with its source, and shows both."""
