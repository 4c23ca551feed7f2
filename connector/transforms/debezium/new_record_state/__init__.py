"""``ExtractNewRecordState`` (Debezium documentation, "New record state extraction")."""
