"""Writes the page ``docs/spark-notebook.md`` from a script of cells, the output of its code, and the pictures that the code draws.

``python -m workers.lab.notebook`` starts PostgreSQL, Kafka and a worker, runs the cells of ``shop.py`` and writes the page.
"""
