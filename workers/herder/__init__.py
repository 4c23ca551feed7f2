"""Applies the stored configurations: herder, reconciler, supervisor, states, and the contexts of tasks."""
