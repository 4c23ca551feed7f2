"""One configuration property as Kafka's ``ConfigDef`` defines it: name, type, default, documentation, validators.

The rooms that have properties (:mod:`connector.transforms`, :mod:`connector.converters`, :mod:`connector.config`) make their tables of
these. Imports :mod:`connector.java` and the emulation.
"""
