"""Protocol Buffers: the schemas and bytes that Confluent's ProtobufConverter makes of Connect's."""
