"""The subcommands of ``understudy`` besides ``worker``: they check, show, signal and migrate. One file for each command."""
