"""The phases `rest` and `console`: two hundred connectors, and the time of each call."""
