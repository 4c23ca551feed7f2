"""Debezium's transforms that ask a script: ``Filter`` and ``ContentBasedRouter``.

Debezium documentation, "Message filtering" and "Content-based routing".
:mod:`.engine` makes the engine of a language: :mod:`.groovy`, :mod:`.python` or :mod:`.javascript`. Scripts see the record and nothing
else: no file, no network, no class beside those that an engine lists.
"""
