"""From PostgreSQL's text of a value to its Connect value and its JSON, one file per family of types."""
