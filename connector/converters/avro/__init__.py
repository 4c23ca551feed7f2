"""Avro: the schemas and bytes that Confluent's and Apicurio's AvroConverter make of Connect's."""
