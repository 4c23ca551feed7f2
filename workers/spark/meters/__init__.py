"""Figures of a running job: what they are, as text for Prometheus, and the HTTP server that shows them."""
