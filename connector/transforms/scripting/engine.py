"""The engines that evaluate scripts, by the option ``language``."""

from __future__ import annotations

from typing import Any, Final, Protocol

from connector.configdef.options import OptionError
from connector.record.connect_record import ConnectRecord
from connector.transforms.scripting import javascript
from connector.transforms.scripting.groovy.program import Program
from connector.transforms.scripting.problem import ScriptError
from connector.transforms.scripting.python import PythonExpression

_JSR_223: Final = "jsr223."
_WASM: Final = "wasm."
_PYTHON: Final = "python"
_GROOVY: Final = ("groovy", "Groovy")


class Engine(Protocol):
    """A script, ready to be evaluated."""

    def evaluate(self, record: ConnectRecord) -> Any:
        """Return the script's value: a ``bool``, a ``str``, None, or a value of another type. Raises EvaluationError."""


def engine_of(language: str, script: str) -> Engine:
    """Make the engine of a language with its script. Raises OptionError for an unknown language and for a script that cannot be run."""
    try:
        if language == _PYTHON:
            return PythonExpression(script)
        name = _name(language)
        if name in _GROOVY:
            return Program(script)
        if name in javascript.NAMES:
            return javascript.JavaScriptExpression(script)
    except ScriptError as error:
        raise OptionError(f"Failed to parse expression '{script}': {error}") from None
    raise OptionError(f"Implementation of language '{name}' not found on the classpath; use jsr223.groovy, jsr223.graal.js or python")


def _name(language: str) -> str:
    if language.startswith(_WASM):
        raise OptionError(f"Language {language} is not supported; write the expression in jsr223.groovy or in python")
    if language.startswith(_JSR_223):
        return language.removeprefix(_JSR_223)
    raise OptionError("Value for option 'language' must begin with 'jsr223.' or 'wasm', e.g. 'jsr223.groovy'")
