"""From bytes of the replication stream to messages: pgoutput, decoderbufs and wal2json.

No other package knows offsets into frames. Imports :mod:`connector.catalog` and the rooms below it.
"""
