"""What follows topics: mirrors and histories, batch by batch, with what they remember."""
