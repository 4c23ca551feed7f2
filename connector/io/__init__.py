"""The connector's edges: libpq and Kafka, each in one place."""
