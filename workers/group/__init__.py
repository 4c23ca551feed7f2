"""The worker's group: membership, assignment of connectors, and ownership."""
