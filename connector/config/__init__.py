"""A connector's configuration: the table of its properties, parsing, validation, documentation.

Imports no room above :mod:`connector.types`.
"""
