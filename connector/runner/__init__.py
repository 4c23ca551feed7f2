"""One run of a task: connects the pure connector to PostgreSQL and Kafka. Only this package awaits both.

It begins in :mod:`connector.runner.task`. Nothing is imported here, so that :mod:`connector.runner.context` alone costs little.
"""
