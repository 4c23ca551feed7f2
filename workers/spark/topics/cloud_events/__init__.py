"""Records of Debezium's CloudEventsConverter, with the data in JSON and in Avro."""
