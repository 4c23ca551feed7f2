"""The plan of a snapshot, and its parts for several readers. Imports :mod:`connector.events` and the rooms below it."""
