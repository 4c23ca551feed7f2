"""What an incremental snapshot reads from and writes to PostgreSQL: chunks, and the watermarks around them."""
