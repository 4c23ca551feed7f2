"""The database checks of a configuration before it is accepted: facts in, findings out.

Pure; :mod:`connector.io.postgres.preflight` reads the facts. A finding is an error only if the task would certainly fail, and would fail
until somebody acts. It is a warning if the problem may pass by itself, if the catalog of a managed server cannot prove it, or if it does
not end the task. :data:`connector.preflight.rules.RULES` lists all rules.
"""
