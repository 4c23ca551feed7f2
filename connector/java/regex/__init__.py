"""Java's regular expressions (``java.util.regex.Pattern``, Java 17), translated for engines that Python has.

:mod:`.syntax` parses a pattern into a tree. :mod:`.text` writes a tree for RE2 or for :mod:`re`. Java's character classes become sets of
code points, which both engines understand equally. :mod:`.matching` matches with :mod:`re`, with groups.
"""
