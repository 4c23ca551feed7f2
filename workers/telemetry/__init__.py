"""The worker's log: its format, and the levels of its loggers."""
