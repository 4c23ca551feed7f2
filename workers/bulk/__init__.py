"""Snapshots of large tables, read with Spark. Each task reads parts of tables with COPY and sends their events to Kafka.

This is the only Spark job that imports the connector. The executors convert rows to events and records with the connector's code, as its
own snapshots do. Spark transfers no rows. It only distributes the parts to the executors, and repeats tasks that failed.
"""
