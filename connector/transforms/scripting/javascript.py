"""Conditions in JavaScript (``language=jsr223.graal.js``), evaluated by V8 as the package ``mini-racer`` brings it (extra ``javascript``).

The script sees copies of the record: no file, no network, and nothing of Python. Time and memory are bounded. Integers beyond 2^53 lose
their last digits, as numbers of JavaScript do.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from connector.extras import install_command
from connector.record.connect_record import ConnectRecord
from connector.transforms.scripting.javascript_objects import PROGRAM
from connector.transforms.scripting.javascript_record import RecordWriter
from connector.transforms.scripting.problem import EvaluationError, ScriptError

NAMES: Final = ("js", "javascript", "graal.js")
_MODULE: Final = "py_mini_racer"
_SECONDS: Final = 1
_BYTES: Final = 64 * 1024 * 1024
_JOBS: Final = re.compile(
    r"async|Async|import|Promise|Function|constructor|eval|Object|Reflect|this|\\"
    # A name in brackets that is computed. Lists of literals are usual.
    r"""|\[(?!\s*(?:(?:-?\d+|'[^']*'|"[^"]*")\s*(?:,\s*(?:-?\d+|'[^']*'|"[^"]*")\s*)*)?\])"""
)
"""Matches every script that can leave jobs of promises. V8 runs these after the script, where nothing bounds their time."""


class JavaScriptExpression:
    """A JavaScript script; its last expression is its value. Raises ScriptError, also where no engine is installed."""

    def __init__(self, script: str) -> None:
        try:
            self._racer: Any = importlib.import_module(_MODULE)
        except ImportError:
            raise ScriptError(
                "The language JavaScript needs the package mini-racer, which is not installed. Write the expression in jsr223.groovy, "
                f"or install it: `{install_command('javascript')}`"
            ) from None
        self._script = script
        self._leaves_jobs = _JOBS.search(script) is not None
        self._context: Any
        try:
            self._start()
            # Neither runs the script: both check its syntax, the first its braces and the second that no return stands in it.
            for check in (f"new Function({json.dumps(script)})", f"eval({json.dumps(f'if (false) {{{script}{chr(10)}}}')})"):
                self._context.eval(check, timeout_sec=_SECONDS)
        except self._racer.JSEvalException as failure:
            raise ScriptError(f"JavaScript: {str(failure).splitlines()[0]}") from None

    def _start(self) -> None:
        """Make a context."""
        with ThreadPoolExecutor(1) as apart:
            # In a thread with a running event loop, the package would use that loop, and then it bounds no time.
            apart.submit(self._made).result()

    def _made(self) -> None:
        context = self._racer.MiniRacer()
        context.set_hard_memory_limit(_BYTES)
        # eval takes the value of the last statement as the script's, as a script engine does.
        script = f"(key, value, keySchema, valueSchema, topic, header) => eval({json.dumps(self._script)})"
        # Made once, and called with each record as a text: V8 keeps the source of all that it evaluates.
        self._run = context.eval(f"({PROGRAM})({script})")
        self._writer = RecordWriter()
        self._context = context

    def evaluate(self, record: ConnectRecord) -> Any:
        """Return a ``bool``, a ``str`` or None. Raises EvaluationError."""
        kind, value = json.loads(self._answer(record))
        if kind == "error":
            # The text of an error may hold values; its class is one of a fixed list.
            changed = value == "RecordChange"
            raise EvaluationError(f"The JavaScript expression {'changes the record' if changed else f'failed: {value}'}")
        if kind not in ("boolean", "string", "null"):
            raise EvaluationError(f"The JavaScript expression gives a value of type {kind}, and neither a Boolean nor a String")
        return value

    def _answer(self, record: ConnectRecord) -> str:
        fresh = self._context is None
        if fresh:
            self._start()
        text = self._writer.write(record)
        try:
            answer = self._run(text, timeout_sec=_SECONDS)
            if self._leaves_jobs:
                # Waits for them. Otherwise the next call would, and without an end.
                self._context.eval("0", timeout_sec=_SECONDS)
        except self._racer.JSEvalException as failure:
            late, full = isinstance(failure, self._racer.JSTimeoutException), self._full()
            reason = f"it takes more than {_SECONDS} s for one record" if late else type(failure).__name__
        else:
            return str(answer)
        # A full context fails for every record, and jobs may still run in another.
        self._stop()
        if full and not fresh:
            # What filled it may be what earlier records left.
            return self._answer(record)
        if full:
            reason = f"it takes more than {_BYTES >> 20} MiB of memory"
        raise EvaluationError(f"The JavaScript expression failed: {reason}")

    def _full(self) -> bool:
        """Whether the context has reached its limit of memory. Waits until it has ended what ran too long."""
        with contextlib.suppress(self._racer.JSEvalException):
            self._context.eval("0", timeout_sec=_SECONDS)
        return bool(self._context.was_hard_memory_limit_reached())

    def _stop(self) -> None:
        self._context.close()
        self._context = None
