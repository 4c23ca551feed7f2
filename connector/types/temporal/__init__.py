"""Dates, times, timestamps and intervals."""
