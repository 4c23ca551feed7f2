"""The slot of a running stream: it may be busy at the start, is confirmed, and its xmin is watched."""
