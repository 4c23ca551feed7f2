"""Compares what is made of texts with Java's own classes, on random cases."""
