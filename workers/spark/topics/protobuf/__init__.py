"""Records of Confluent's ProtobufConverter: their definitions, their schemas as Connect's, and the reading of their bytes."""
