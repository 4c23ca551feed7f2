"""A standalone cluster of Spark, and an object store, on this machine."""
