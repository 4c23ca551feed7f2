"""The JSON of signals, read as the reference's parser (Jackson) reads it.

Recorded: comments, control characters inside of texts, and whatever follows the first value are taken; NaN, single quotes, names without
quotes and commas before a closing bracket are refused, and so are values nested more than 1,000 deep.
"""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

import orjson

_MOST: Final = 20_000_000
"""Characters: as long as the longest text that Jackson takes."""
# Texts are matched so that a comment's beginning inside of one counts for nothing. Each alternative matches whatever follows its first
# character: nothing is looked at twice, however long the text is.
_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*+"?)|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|//[^\n]*+', re.DOTALL)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_LENIENT: Final = json.JSONDecoder(strict=False, parse_constant=_refuse)


def read_document(text: str) -> object:
    """The first value in ``text``. ValueError, whose text quotes nothing of it, when there is none."""
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
        raise ValueError("it holds half of a surrogate pair, which is no character") from error
    return value
