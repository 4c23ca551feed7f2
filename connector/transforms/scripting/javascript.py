"""Conditions in JavaScript (``language=jsr223.graal.js``), evaluated by V8 as the package ``mini-racer`` brings it (extra ``javascript``).

The script sees copies of the record as plain objects: no file, no network, and nothing of Python. Time and memory are bounded. Integers
beyond 2^53 lose their last digits, as numbers of JavaScript do.
"""

from __future__ import annotations

import importlib
import json
from decimal import Decimal
from typing import Any, Final

import orjson

from connector.extras import install_command
from connector.record.connect_record import ConnectRecord
from connector.record.schema import NO_DEFAULT, Schema
from connector.transforms.scripting.groovy.text import type_name
from connector.transforms.scripting.problem import EvaluationError, ScriptError

NAMES: Final = ("js", "javascript", "graal.js")
_MODULE: Final = "py_mini_racer"
_MILLISECONDS: Final = 1_000
_BYTES: Final = 64 * 1024 * 1024
_PRELUDE: Final = """
const understudySchema = (s) => s === null ? null : {
  name: () => s.name, type: () => s.type, version: () => s.version, isOptional: () => s.optional,
  field: (name) => { const f = s.fields.find((each) => each.name === name); return f ? understudyField(f) : null },
  fields: () => s.fields.map(understudyField),
};
const understudyField = (f) => ({ name: () => f.name, index: () => f.index });
const understudyRun = (script, text) => {
  const record = JSON.parse(text);
  const found = script(record.key, record.value, understudySchema(record.keySchema), understudySchema(record.valueSchema),
    record.topic, record.header);
  const kind = found === null || found === undefined ? 'null' : typeof found;
  return JSON.stringify([kind, kind === 'boolean' || kind === 'string' ? found : null]);
};
"""


class JavaScriptExpression:
    """A JavaScript script; its last expression is its value. Raises ScriptError, also where no engine is installed."""

    def __init__(self, script: str) -> None:
        try:
            racer = importlib.import_module(_MODULE)
        except ImportError:
            raise ScriptError(
                "The language JavaScript needs the package mini-racer, which is not installed. Write the expression in jsr223.groovy, "
                f"or install it: {install_command('javascript')}"
            ) from None
        self._failure: type[Exception] = racer.JSEvalException
        self._context: Any = racer.MiniRacer()
        self._schemas: dict[int, tuple[Schema, Any]] = {}
        # eval takes the value of the last statement as the script's, as a script engine does.
        parameters = "key, value, keySchema, valueSchema, topic, header"
        try:
            # Neither runs the script: both check its syntax, the first its braces and the second that no return stands in it.
            for check in (f"new Function({json.dumps(script)})", f"eval({json.dumps(f'if (false) {{{script}{chr(10)}}}')})"):
                self._context.eval(check, timeout=_MILLISECONDS, max_memory=_BYTES)
            self._context.eval(_PRELUDE, timeout=_MILLISECONDS, max_memory=_BYTES)
            self._context.eval(
                f"const understudyScript = ({parameters}) => eval({json.dumps(script)})", timeout=_MILLISECONDS, max_memory=_BYTES
            )
        except self._failure as failure:
            raise ScriptError(f"JavaScript: {str(failure).splitlines()[0]}") from None

    def evaluate(self, record: ConnectRecord) -> Any:
        """Return a ``bool``, a ``str`` or None, else an object of another type. Raises EvaluationError."""
        text = json.dumps(self._record(record).decode())
        try:
            answer = self._context.eval(f"understudyRun(understudyScript, {text})", timeout=_MILLISECONDS, max_memory=_BYTES)
        except self._failure as failure:
            # The engine's own text may hold values.
            raise EvaluationError(f"The JavaScript expression failed: {type(failure).__name__}") from None
        kind, value = orjson.loads(str(answer))
        return value if kind in ("boolean", "string", "null") else Other(kind)

    def _record(self, record: ConnectRecord) -> bytes:
        return orjson.dumps(
            {
                "key": _value(record.key_schema, record.key),
                "value": _value(record.value_schema, record.value),
                "keySchema": self._schema(record.key_schema),
                "valueSchema": self._schema(record.value_schema),
                "topic": record.topic,
                "header": {each.name: {"value": _value(each.schema, each.value)} for each in record.headers},
            }
        )

    def _schema(self, schema: Schema | None) -> Any:
        if schema is None:
            return None
        known = self._schemas.get(id(schema))
        if known is None:
            if len(self._schemas) >= 1_000:
                self._schemas.clear()
            known = self._schemas[id(schema)] = schema, _described(schema)
        return known[1]


class Other:
    """A value that is neither a Boolean nor a String."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


def _described(schema: Schema) -> dict[str, Any]:
    return {
        "name": schema.name,
        "type": type_name(schema),
        "version": schema.version,
        "optional": schema.optional,
        "fields": [{"name": field.name, "index": at} for at, field in enumerate(schema.fields)],
    }


def _value(schema: Schema | None, value: Any) -> Any:
    """A value as JSON holds it: structs and maps as objects, with defaults in place of null."""
    if schema is not None and value is not None:
        if schema.type == "struct":
            return {field.name: _value(field.schema, _field(field.schema, value[field.name])) for field in schema.fields}
        if schema.type == "array":
            return [_value(schema.items, each) for each in value]
        if schema.type == "map":
            return {str(key): _value(schema.values, each) for key, each in value.items()}
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return list(value)
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        return float(value)
    return value


def _field(schema: Schema, value: Any) -> Any:
    return schema.default if value is None and schema.default is not NO_DEFAULT else value
