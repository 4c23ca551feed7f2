"""Parses the JSON of signals as Debezium's parser (Jackson) does.

As recorded, it accepts comments, control characters inside strings, and any text after the first value. It refuses NaN, single quotes,
names without quotes, a comma before a closing bracket, and values nested more than 1,000 deep.
"""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

import orjson

_MOST: Final = 20_000_000
"""The most characters of a document. Jackson has the same limit for a string."""
# The pattern matches strings too, because a string may contain the characters that begin a comment. Each alternative always matches after
# its first character, so the pattern never backtracks, and long texts take linear time.
_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*+"?)|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|//[^\n]*+', re.DOTALL)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_LENIENT: Final = json.JSONDecoder(strict=False, parse_constant=_refuse)


def read_document(text: str) -> object:
    """Return the first value in ``text``. Raises ValueError if there is none; its message quotes nothing of ``text``."""
    if len(text) > _MOST:
        raise ValueError(f"it has {len(text)} characters, and at most {_MOST} are read")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        value, _ = _LENIENT.raw_decode(_COMMENT.sub(lambda found: found[1] or " ", text).strip())
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    except UnicodeEncodeError as error:
        raise ValueError("it holds half of a surrogate pair, which is not a character") from error
    return value
