"""Changes of PostgreSQL tables as Debezium's events: pure, but for :mod:`connector.io` and :mod:`connector.runner`."""
