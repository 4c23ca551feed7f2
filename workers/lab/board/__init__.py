"""Draws a Grafana board with the answers of a Prometheus: the pictures of docs/monitoring.md, made without Grafana."""
