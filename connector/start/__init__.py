"""What a task does at its start, decided from slot, stored offset and snapshot mode.

Imports :mod:`connector.snapshot` and the rooms below it.
"""
