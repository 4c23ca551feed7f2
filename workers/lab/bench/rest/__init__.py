"""The phase `rest`: two hundred connectors, and the time of each call."""
