"""Counters of a running task, which metrics show. The task adds to them at transactions and bursts; reading them costs the task nothing."""
