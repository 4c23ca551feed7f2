"""From the records of a batch to one effect for each key: the last change, with the values that it lacks."""
