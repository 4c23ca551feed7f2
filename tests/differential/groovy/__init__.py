"""Compares Groovy conditions with the real Groovy, on random scripts and records."""
