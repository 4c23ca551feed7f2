"""Compaction of a mirror's files, and the removal of files that no reader needs."""
