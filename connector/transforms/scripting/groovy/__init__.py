"""Groovy's expressions and short scripts, as conditions of transforms are written (Groovy language documentation, 4.0).

:mod:`.syntax` makes a tree of a script's text, :mod:`.compiler` functions of that. Values are those of :mod:`.values`, with
Java's classes. A script can call only the methods that the tables of :mod:`.methods` list, and every name of a method that no table has is
an error when the script is compiled.
"""
