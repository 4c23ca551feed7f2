"""The benchmarks of mirrors: one large table, many small tables, and the lag under a steady load."""
