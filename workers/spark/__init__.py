"""PySpark jobs that read the connector's topics and write tables.

They depend on topics, events and PostgreSQL's catalog, not on the worker or the connector. So they read the topics of
Debezium as well as those of Understudy.
"""
