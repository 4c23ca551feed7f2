"""A small shop whose changes can be watched: PostgreSQL, Kafka and a worker on this machine, with nothing to install.

``python -m workers.quickstart.demo`` runs it from the first row to the tables that Spark writes, and leaves no processes or files;
``python -m workers.quickstart.demo up`` starts the servers and keeps them running, ``down`` ends them.
"""
