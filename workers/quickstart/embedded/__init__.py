"""PostgreSQL and Kafka from wheels and jars, as child processes: for the demo, the tests and the measurements.

The worker does not use this package. The servers need no root, container or package manager. Each one listens on a free port of
127.0.0.1, keeps its files in its own folder, and removes that folder when it stops.
"""
