"""The phases `rest` and `console` (two hundred connectors, the time of each call), and scrapes of the metrics."""
