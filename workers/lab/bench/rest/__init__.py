"""Measurements of the REST interface: the phase `rest` (two hundred connectors, the time of each call), and scrapes of the metrics."""
