"""Child processes: their start, their messages to and from the parent process, and their end."""
