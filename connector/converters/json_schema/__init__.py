"""JSON with JSON Schema in a registry, as Confluent's JsonSchemaConverter makes it of Connect's schemas."""
