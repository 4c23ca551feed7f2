"""The worker's settings, and the references to secrets in configurations."""
