"""How fast a worker is on this machine: ``python -m workers.bench``."""
