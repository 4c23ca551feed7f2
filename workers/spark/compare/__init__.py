"""A mirror beside its source: whether they are equal, and how they look."""
