"""Snapshots of large tables, read by Spark: parts of tables as tasks, each read with COPY and sent to Kafka by the executor it falls to.

Of the Spark jobs this one alone knows the connector: rows become events, and events records, by the connector's own code, in the
executors as in its own snapshots. Spark moves no rows; it says who reads what, and reads again what an executor did not finish.
"""
