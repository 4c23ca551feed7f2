"""What a mirrored table is: its columns, how they change, and values on their way to other types."""
