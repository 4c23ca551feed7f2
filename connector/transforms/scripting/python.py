"""Conditions in Python (``language=python``): one expression, of a part of the language.

An expression may hold literals, the variables of :mod:`.bindings`, fields as attributes (``value.after.id``) and in brackets, operators,
comparisons, ``and``, ``or``, ``not``, ``x if c else y``, f-strings, comprehensions, and calls of the functions and methods listed here.
It is interpreted, and never handed to Python itself: nothing else can be reached from it. A budget bounds its work.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, Final

from connector.record.connect_record import ConnectRecord
from connector.record.schema import Schema
from connector.transforms.scripting.bindings import NAMES, Bindings
from connector.transforms.scripting.groovy import operators
from connector.transforms.scripting.groovy.budget import LONGEST_LIST, MOST_BITS, Budget, list_of_length, text_of_length
from connector.transforms.scripting.groovy.values import Date, JavaMap, RecordHeader, Struct
from connector.transforms.scripting.problem import EvaluationError, Place, ScriptError

Variables = dict[str, Any]
Run = Callable[[Variables], Any]
_BUDGET: Final = " budget"
_LONGEST: Final = 65_536
_DEEPEST: Final = 50
_BINARY: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: Final[dict[type, Callable[[Any], Any]]] = {ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos}
_COMPARE: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_NUMBERS: Final = (bool, int, float, Decimal)


def _text(value: Any) -> str:
    if value is None or isinstance(value, (str, *_NUMBERS)):
        if isinstance(value, int) and value.bit_length() > MOST_BITS:
            raise EvaluationError(f"A number has more than {MOST_BITS} bits")
        return str(value)
    raise EvaluationError(f"A value of type {type(value).__name__} has no text here")


def _whole(value: Any) -> int:
    if isinstance(value, str) and len(value) > 1000:
        raise EvaluationError("A text is too long for a number")
    return int(value)


def _matches(budget: Budget, pattern: Any, text: Any) -> bool:
    if not isinstance(pattern, str) or not isinstance(text, str):
        raise EvaluationError("matches takes a regular expression and a text")
    return operators.matched(text, pattern, budget)


def _sum(budget: Budget, values: Any, start: Any = 0) -> Any:
    found = start
    for each in values:
        found = budget.made(_calculated(operator.add, found, each))
    return found


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "len": len,
    "str": _text,
    "int": _whole,
    "float": float,
    "bool": bool,
    "abs": abs,
    "min": min,
    "max": max,
    "any": any,
    "all": all,
    "sorted": sorted,
}
_OF_LENGTH: Final = (len, bool)
"""Functions that look at no item."""
_BUDGETED: Final[dict[str, Callable[..., Any]]] = {"matches": _matches, "sum": _sum}
"""``matches(pattern, text)`` asks whether a Java regular expression matches a whole text."""
# fmt: off
_TEXT_METHODS: Final = frozenset(
    [
        "startswith", "endswith", "lower", "upper", "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "replace",
        "find", "rfind", "count", "isdigit", "isalpha", "isalnum", "isspace", "title", "capitalize", "removeprefix",
        "removesuffix", "partition", "rpartition", "join", "casefold",
    ]
)
# fmt: on
_MAP_METHODS: Final = frozenset(("get", "keys", "values", "items"))
_METHODS: Final = _TEXT_METHODS | _MAP_METHODS
_ERRORS: Final = (TypeError, ValueError, ArithmeticError, LookupError, RecursionError)


class PythonExpression:
    """A Python expression. Made once, it evaluates any number of records. Raises ScriptError."""

    def __init__(self, script: str) -> None:
        if len(script) > _LONGEST:
            raise ScriptError(f"The script has {len(script)} characters and may have {_LONGEST}")
        try:
            parsed = ast.parse(script.strip(), mode="eval")
        except SyntaxError as error:
            raise ScriptError(str(error.msg), Place(error.lineno or 1, error.offset or 1)) from None
        except (ValueError, RecursionError, MemoryError):
            raise ScriptError("The script cannot be parsed") from None
        self._bindings = Bindings()
        self._run = _Compiler().compile(parsed.body)

    def evaluate(self, record: ConnectRecord) -> Any:
        """Return what the expression gives for a record. Raises EvaluationError."""
        variables: Variables = dict(zip(NAMES, self._bindings.of(record), strict=True))
        variables[_BUDGET] = Budget()
        try:
            return self._run(variables)
        except _ERRORS as error:
            if isinstance(error, EvaluationError):
                raise
            # Python's own texts may hold values.
            raise EvaluationError(f"The expression failed: {type(error).__name__}") from None


class _Compiler:
    def __init__(self) -> None:
        self.known = set(NAMES)
        self.depth = 0

    def compile(self, node: ast.expr) -> Run:
        make = getattr(self, f"_{type(node).__name__.lower()}", None)
        self.depth += 1
        if make is None:
            raise self._problem(node, f"{type(node).__name__} is not supported")
        if self.depth > _DEEPEST:
            raise self._problem(node, f"Expressions are nested more than {_DEEPEST} deep")
        run: Run = make(node)
        self.depth -= 1
        return run

    def _problem(self, node: ast.expr, what: str) -> ScriptError:
        return ScriptError(what, Place(node.lineno, node.col_offset + 1))

    def _constant(self, node: ast.Constant) -> Run:
        value = node.value
        if value is not None and not isinstance(value, (str, bool, int, float)):
            raise self._problem(node, f"A literal of type {type(value).__name__} is not supported")
        return lambda _: value

    def _name(self, node: ast.Name) -> Run:
        name = node.id
        if name not in self.known:
            raise self._problem(node, f"The variable {name} is not known")
        return lambda variables: variables[name]

    def _attribute(self, node: ast.Attribute) -> Run:
        of, name = self.compile(node.value), node.attr
        if name.startswith("_"):
            raise self._problem(node, f"The attribute {name} is not known")
        return lambda variables: _member(of(variables), name, variables[_BUDGET])

    def _subscript(self, node: ast.Subscript) -> Run:
        of = self.compile(node.value)
        if isinstance(node.slice, ast.Slice):
            ends = [None if end is None else self.compile(end) for end in (node.slice.lower, node.slice.upper)]
            if node.slice.step is not None:
                raise self._problem(node, "A slice with a step is not supported")
            return lambda variables: variables[_BUDGET].made(
                _container(of(variables), variables[_BUDGET])[slice(*(None if end is None else end(variables) for end in ends))]
            )
        index = self.compile(node.slice)
        return lambda variables: _item(of(variables), index(variables), variables[_BUDGET])

    def _boolop(self, node: ast.BoolOp) -> Run:
        operands = [self.compile(each) for each in node.values]
        wanted = isinstance(node.op, ast.Or)

        def run(variables: Variables) -> Any:
            value = None
            for operand in operands:
                value = operand(variables)
                if bool(value) is wanted:
                    break
            return value

        return run

    def _binop(self, node: ast.BinOp) -> Run:
        calculate = _BINARY.get(type(node.op))
        if calculate is None:
            raise self._problem(node, f"The operator {type(node.op).__name__} is not supported")
        left, right = self.compile(node.left), self.compile(node.right)
        return lambda variables: variables[_BUDGET].made(_calculated(calculate, left(variables), right(variables)))

    def _unaryop(self, node: ast.UnaryOp) -> Run:
        calculate = _UNARY.get(type(node.op))
        if calculate is None:
            raise self._problem(node, f"The operator {type(node.op).__name__} is not supported")
        operand = self.compile(node.operand)
        return lambda variables: calculate(operand(variables))

    def _compare(self, node: ast.Compare) -> Run:
        first = self.compile(node.left)
        steps = [(_test(sign), self.compile(each)) for sign, each in zip(node.ops, node.comparators, strict=True)]

        def run(variables: Variables) -> bool:
            left = first(variables)
            for test, operand in steps:
                right = operand(variables)
                if not test(left, right, variables[_BUDGET]):
                    return False
                left = right
            return True

        return run

    def _ifexp(self, node: ast.IfExp) -> Run:
        test, then, otherwise = self.compile(node.test), self.compile(node.body), self.compile(node.orelse)
        return lambda variables: then(variables) if test(variables) else otherwise(variables)

    def _list(self, node: ast.List | ast.Tuple | ast.Set) -> Run:
        items = [self.compile(each) for each in node.elts]
        return lambda variables: variables[_BUDGET].made([item(variables) for item in items])

    _tuple = _list
    _set = _list

    def _dict(self, node: ast.Dict) -> Run:
        if None in node.keys:
            raise self._problem(node, "'**' is not supported")
        entries = [(self.compile(key), self.compile(value)) for key, value in zip(node.keys, node.values, strict=True) if key is not None]
        return lambda variables: variables[_BUDGET].made({key(variables): value(variables) for key, value in entries})

    def _joinedstr(self, node: ast.JoinedStr) -> Run:
        parts = [self.compile(each) for each in node.values]
        return lambda variables: variables[_BUDGET].joined(_text(part(variables)) for part in parts)

    def _formattedvalue(self, node: ast.FormattedValue) -> Run:
        if node.format_spec is not None or node.conversion != -1:
            raise self._problem(node, "A format in an f-string is not supported")
        return self.compile(node.value)

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Run:
        first, *more = node.generators
        if more or not isinstance(first.target, ast.Name) or first.is_async:
            raise self._problem(node, "Only 'for name in values' is supported in a comprehension")
        values, name = self.compile(first.iter), first.target.id
        added = name not in self.known
        self.known.add(name)
        tests, item = [self.compile(each) for each in first.ifs], self.compile(node.elt)
        if added:
            self.known.discard(name)

        def run(variables: Variables) -> list[Any]:
            inner = dict(variables)
            found: list[Any] = []
            budget = variables[_BUDGET]
            for each in _container(values(variables), budget):
                budget.take()
                inner[name] = each
                if all(test(inner) for test in tests):
                    found.append(item(inner))
            budget.made(found)
            return found

        return run

    _generatorexp = _listcomp
    _setcomp = _listcomp

    def _call(self, node: ast.Call) -> Run:
        if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
            raise self._problem(node, "Only arguments without names are supported")
        arguments = [self.compile(each) for each in node.args]
        if isinstance(node.func, ast.Name):
            function, budgeted = _FUNCTIONS.get(node.func.id), _BUDGETED.get(node.func.id)
            if budgeted is not None and arguments:
                return lambda variables: _called(
                    partial(budgeted, variables[_BUDGET]), [each(variables) for each in arguments], variables[_BUDGET]
                )
            if function is None or not arguments:
                raise self._problem(node, f"The function {node.func.id} is not known, or has no arguments")
            return lambda variables: _called(function, [each(variables) for each in arguments], variables[_BUDGET])
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in _METHODS:
            raise self._problem(node, "The method is not known")
        of, name = self.compile(node.func.value), node.func.attr
        return lambda variables: _method(of(variables), name, [each(variables) for each in arguments], variables[_BUDGET])


def _test(sign: ast.cmpop) -> Callable[[Any, Any, Budget], Any]:
    if isinstance(sign, (ast.In, ast.NotIn)):
        wanted = isinstance(sign, ast.In)
        return lambda item, container, budget: _within(item, container, budget) is wanted
    test = _COMPARE[type(sign)]

    def run(left: Any, right: Any, budget: Budget) -> Any:
        if isinstance(left, _LONG) and isinstance(right, _LONG):
            budget.look(left)
            budget.look(right)
        return test(left, right)

    return run


_LONG: Final = (str, list, dict)


def _within(item: Any, container: Any, budget: Budget) -> bool:
    values = _container(container, budget)
    if isinstance(values, list):
        budget.search(values, item)
    else:
        budget.look(values)
    return item in values


def _member(value: Any, name: str, budget: Budget) -> Any:
    match value:
        case Struct():
            return budget.held(value.get(name))
        case JavaMap():
            return value.get(name)
        case RecordHeader() if name in ("value", "schema"):
            return value.value if name == "value" else value.schema
        case Schema() if name in ("name", "version", "type"):
            return getattr(value, name)
        case Date() if name == "time":
            return value.time
        case None:
            raise EvaluationError(f"None has no field {name}")
    raise EvaluationError(f"A value of type {type(value).__name__} has no field {name}")


def _item(value: Any, index: Any, budget: Budget) -> Any:
    if isinstance(value, Struct) and isinstance(index, str):
        return budget.held(value.get(index))
    if isinstance(value, JavaMap):
        budget.look(index)
        return value.get(index)
    if value is None:
        raise EvaluationError("None has no members")
    return value[index] if isinstance(value, dict) else _container(value, budget)[index]


def _container(value: Any, budget: Budget) -> Any:
    """A text or list, and a map as a list of its keys."""
    if isinstance(value, JavaMap):
        return budget.made(value.keys())
    if isinstance(value, dict):
        return budget.made(list(value))
    if isinstance(value, (str, list)):
        return value
    raise EvaluationError(f"A value of type {type(value).__name__} has no members")


def _sized(value: Any) -> Any:
    if isinstance(value, str):
        text_of_length(len(value))
    elif isinstance(value, list):
        list_of_length(len(value))
    elif isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise EvaluationError(f"A number has more than {MOST_BITS} bits")
    return value


def _calculated(calculate: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Calculate with two numbers, or with two texts or lists; a Decimal with a float gives a float."""
    if calculate is operator.mod and not isinstance(left, _NUMBERS):
        raise EvaluationError("'%' is for numbers; use an f-string")
    if calculate is operator.mul and not (isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)):
        length, times = (len(left), right) if isinstance(left, (str, list)) else (len(right), left)
        if not isinstance(times, int) or length * times > LONGEST_LIST:
            raise EvaluationError("A text or list is repeated too often")
    if isinstance(left, Decimal) and isinstance(right, float):
        left = float(left)
    elif isinstance(left, float) and isinstance(right, Decimal):
        right = float(right)
    return _sized(calculate(left, right))


def _called(function: Callable[..., Any], arguments: list[Any], budget: Budget) -> Any:
    values = [_container(each, budget) if isinstance(each, JavaMap) else each for each in arguments]
    budget.take()
    if function not in _OF_LENGTH:
        for each in values:
            budget.look(each)
    return budget.made(_sized(function(*values)))


def _method(value: Any, name: str, arguments: list[Any], budget: Budget) -> Any:
    budget.take()
    if name != "get":
        budget.look(value)
    for each in arguments:
        budget.look(each)
    if isinstance(value, str) and name in _TEXT_METHODS:
        if name == "join":
            text_of_length(sum(len(_text(each)) + len(value) for each in _container(arguments[0], budget)))
        elif name == "replace":
            longer = value.count(arguments[0]) * (len(arguments[1]) - len(arguments[0]))
            if longer > 0:
                text_of_length(len(value) + longer)
        found = getattr(str, name)(str(value), *arguments)
        return budget.made(list(found) if isinstance(found, tuple) else found)
    if isinstance(value, (JavaMap, dict)) and name in _MAP_METHODS:
        if name == "get":
            found = value.get(arguments[0])
            return arguments[1] if found is None and len(arguments) > 1 else found
        return budget.made([budget.made(list(each)) if isinstance(each, tuple) else each for each in getattr(value, name)()])
    if value is None:
        raise EvaluationError(f"None has no method {name}")
    raise EvaluationError(f"A value of type {type(value).__name__} has no method {name}")
