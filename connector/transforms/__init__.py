"""Single message transforms and their predicates: one file each, every one a pure function over a record.

:mod:`.kafka` holds Kafka's own, :mod:`.debezium` Debezium's. :mod:`.catalog` finds one by its class name, :mod:`.chain` applies them in
order. Imports :mod:`connector.converters`, :mod:`connector.record` and the rooms below.
"""
