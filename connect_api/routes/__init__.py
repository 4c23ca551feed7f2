"""The routes, one file for each of Kafka Connect's resources and for each extension. Imports the rest of the REST dialect."""
