"""The servers of the REST interface: listeners, TLS, login, limits, and rules for the headers of answers."""
