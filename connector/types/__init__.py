"""From PostgreSQL's text of a value to its Connect value and its JSON, one file per family of types.

The placeholder for an unchanged TOAST value is in :mod:`connector.types.toast`.
"""
