"""Mirrored tables: their columns, the changes of these, and the conversion of values."""
