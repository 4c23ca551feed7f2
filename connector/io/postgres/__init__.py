"""PostgreSQL through libpq: connections, COPY, the replication protocol, the catalog."""
