"""One run of a task: connects the pure connector to PostgreSQL and Kafka. Only this package awaits both."""

from connector.runner.task import run_task, take_initial_snapshot

__all__ = ["run_task", "take_initial_snapshot"]
