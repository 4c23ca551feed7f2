"""Java's regular expressions (``java.util.regex.Pattern``), read as Java 17 reads them and written for engines that Python has.

:mod:`.syntax` makes a tree of a pattern, :mod:`.text` writes a tree for RE2 or for :mod:`re`. Both engines are given sets of code
points in place of Java's classes, so that neither can mean something else by them. Nothing is matched here.
"""
