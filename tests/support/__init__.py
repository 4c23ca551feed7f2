"""What several test folders share: scenarios against the reference, a load that knows what it did, readers of topics."""
