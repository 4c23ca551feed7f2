"""The differential test of transforms and predicates; :mod:`tests.differential.transforms.__main__` is the program."""
