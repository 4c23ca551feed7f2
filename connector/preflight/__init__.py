"""What the database tells about a configuration before it is accepted: facts in, findings out.

Pure; :mod:`connector.io.pg_preflight` brings the facts. A finding is an error only where the task would fail for certain and go on
failing until somebody acts; what may pass by itself, what catalogs of managed servers cannot prove, and what merely hurts is a
warning. :data:`connector.preflight.rules.RULES` is the whole table.
"""
