"""The words of the language that are no names of variables, and the types that a script may name."""

from __future__ import annotations

from typing import Final

# fmt: off
RESERVED: Final = frozenset((
    "abstract", "assert", "break", "case", "catch", "class", "const", "continue", "def", "default", "do", "else", "enum",
    "extends", "final", "finally", "for", "goto", "if", "implements", "import", "in", "instanceof", "interface", "native",
    "new", "package", "private", "protected", "public", "return", "static", "strictfp", "super", "switch", "synchronized",
    "this", "threadsafe", "throw", "throws", "trait", "transient", "try", "volatile", "while", "var",
))
TYPES: Final = frozenset((
    "Object", "String", "Character", "Boolean", "Integer", "Long", "Short", "Byte", "Double", "Float", "Number",
    "BigDecimal", "BigInteger", "List", "ArrayList", "Map", "LinkedHashMap", "Set", "Collection", "Iterable",
    "CharSequence", "GString", "Date", "Struct", "Schema", "Closure", "Comparable", "boolean", "int", "long", "short",
    "byte", "double", "float", "char",
))
# fmt: on
