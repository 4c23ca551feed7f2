"""The page ``docs/spark-notebook.md``: a script of cells, what its code printed when it was run, and the pictures that it drew.

``python -m workers.notebook`` starts PostgreSQL, Kafka and a worker, runs the cells of ``shop.py`` and writes the page.
"""
