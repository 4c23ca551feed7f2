"""Takes initial and blocking snapshots: their transaction, their rows, and their reader processes."""
