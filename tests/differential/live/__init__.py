"""Random changes of one database, read by a connector of the real Kafka Connect and by one of ours: ``python -m tests.differential.live``.

Both connectors have the same configuration but for their names, a slot each, and read the same changes: positions, transaction ids
and times of commits are equal too.
"""
