"""PySpark jobs that read the connector's topics and make tables of them.

They know topics, events and PostgreSQL's catalog; they import nothing of the worker or the connector, so they run as
well behind any Debezium as behind Understudy.
"""
