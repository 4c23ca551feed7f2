"""Jobs that follow topics batch by batch: mirrors and histories, and their checkpoints."""
