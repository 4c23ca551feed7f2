"""The MBeans of Kafka Connect and Debezium: one file for each family, with a table of its attributes (docs/monitoring.md)."""
