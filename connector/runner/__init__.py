"""The async side of a task: joins the pure connector to PostgreSQL and Kafka. Nothing else awaits both."""

from connector.runner.task import run_task, take_initial_snapshot

__all__ = ["run_task", "take_initial_snapshot"]
