"""PostgreSQL and Kafka from wheels and jars, as child processes: for the demo, the tests and the measurements.

Nothing here is part of the worker: no root, no container and no package manager is needed, every server listens on a free
port of 127.0.0.1, keeps its files in one folder of its own and removes that folder when it stops.
"""
