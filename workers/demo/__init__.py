"""A small shop whose changes can be watched: PostgreSQL, Kafka and a worker on this machine, with nothing to install.

``python -m workers.demo`` runs it from the first row to the tables that Spark keeps, and leaves nothing behind;
``python -m workers.demo up`` and ``down`` keep the servers running and end them.
"""
