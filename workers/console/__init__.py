"""The web console at ``/ui``: pages that a browser shows, made on the server. It acts through the worker's own REST interface."""
