"""What the database's catalog says about tables, and which tables and columns the configuration selects.

Imports :mod:`connector.config` and the rooms below it.
"""
