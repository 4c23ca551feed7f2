"""Makes functions of a script's expressions; :mod:`.program` does so for statements.

Each function takes the slots of an evaluation and returns a value. What cannot work for any record is refused here with its place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from decimal import Decimal
from types import NoneType
from typing import Any, Final

from connector.java.regex.matching import Pattern
from connector.transforms.scripting.groovy import operators, patterns
from connector.transforms.scripting.groovy.budget import Budget, list_of_length
from connector.transforms.scripting.groovy.comparison import compare, equal, truth
from connector.transforms.scripting.groovy.conversion import is_instance, to_type
from connector.transforms.scripting.groovy.indexing import at_index
from connector.transforms.scripting.groovy.lambdas import items_of
from connector.transforms.scripting.groovy.methods import lookup as methods
from connector.transforms.scripting.groovy.methods.string_methods import by_units
from connector.transforms.scripting.groovy.numbers import arithmetic, is_number, negated
from connector.transforms.scripting.groovy.scope import Run, Scope, Slots
from connector.transforms.scripting.groovy.syntax import tree
from connector.transforms.scripting.groovy.syntax.words import TYPES
from connector.transforms.scripting.groovy.text import text_of
from connector.transforms.scripting.groovy.values import (
    CLASSES,
    Float,
    GString,
    JavaClass,
    JavaMap,
    Long,
    Matcher,
    Range,
    Short,
    Struct,
    class_of,
)
from connector.transforms.scripting.problem import EvaluationError, ScriptError

_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<=>": compare,
    "<": lambda left, right: compare(left, right) < 0,
    "<=": lambda left, right: compare(left, right) <= 0,
    ">": lambda left, right: compare(left, right) > 0,
    ">=": lambda left, right: compare(left, right) >= 0,
}
_OF_JAVA_LANG: Final = frozenset(("Object", "Number", "CharSequence", "Comparable", "Iterable", "Math"))
_CLASS_NAMES: Final = {name.rpartition(".")[2]: name for name in CLASSES.values()}


class Compiler(ABC):
    """Compiles the expressions of one script. Raises ScriptError."""

    def __init__(self) -> None:
        self.scope = Scope()
        self._makers: Final[dict[type, Callable[[Any], Run]]] = {
            tree.Constant: self._constant,
            tree.Text: self._text,
            tree.Name: self._name,
            tree.Property: self._property,
            tree.Index: self._index,
            tree.Call: self._call,
            tree.Unary: self._unary,
            tree.Binary: self._binary,
            tree.Logical: self._logical,
            tree.Conditional: self._conditional,
            tree.Elvis: self._elvis,
            tree.OfType: self._of_type,
            tree.Range: self._range,
            tree.ListLiteral: self._list,
            tree.MapLiteral: self._map,
        }

    def expression(self, node: tree.Node) -> Run:
        """Compile an expression."""
        make = self._makers.get(type(node))
        if make is None:
            raise ScriptError("A closure can only be an argument of a method, or the value of a variable of the script", node.place)
        return make(node)

    @abstractmethod
    def closure(self, node: tree.Closure) -> Run:
        """Compile a closure."""

    def _constant(self, node: tree.Constant) -> Run:
        value = node.value
        return lambda _slots: value

    def _text(self, node: tree.Text) -> Run:
        parts = [part if isinstance(part, str) else self.expression(part) for part in node.parts]

        def run(slots: Slots) -> Any:
            budget = slots[0]
            return GString(budget.joined(part if isinstance(part, str) else _shown(part(slots), budget) for part in parts))

        return run

    def _name(self, node: tree.Name) -> Run:
        slot = self.scope.find(node.name)
        if slot is not None:
            return lambda slots: slots[slot]
        if node.name in TYPES or node.name in methods.STATIC_CLASSES:
            package = "java.lang" if node.name in _OF_JAVA_LANG else "java.util"
            kind = JavaClass(_CLASS_NAMES.get(node.name, f"{package}.{node.name}"))
            return lambda _slots: kind
        raise ScriptError(f"The variable {node.name} is not known", node.place)

    def _static_class(self, node: tree.Node | None) -> str | None:
        if isinstance(node, tree.Name) and node.name in methods.STATIC_CLASSES and self.scope.find(node.name) is None:
            return node.name
        return None

    def _property(self, node: tree.Property) -> Run:
        name = node.name
        if (owner := self._static_class(node.of)) is not None and (owner, name) in methods.CONSTANTS:
            constant = methods.CONSTANTS[owner, name]
            return lambda _slots: constant
        of = self.expression(node.of)
        if name == "class" and isinstance(node.of, tree.Name) and self.scope.find(node.of.name) is None:
            return of
        read = methods.read_property
        if node.spread:
            return lambda slots: _spread(of(slots), lambda each: read(each, name, slots[0]), slots[0])
        if node.safe:
            return lambda slots: None if (value := of(slots)) is None else read(value, name, slots[0])
        if name not in methods.OWN_OF_STRUCTS:
            # The common case without the way through all kinds of values.
            return lambda slots: slots[0].held(value.get(name)) if type(value := of(slots)) is Struct else read(value, name, slots[0])
        return lambda slots: read(of(slots), name, slots[0])

    def _index(self, node: tree.Index) -> Run:
        of, index, safe = self.expression(node.of), self.expression(node.index), node.safe

        def run(slots: Slots) -> Any:
            value = of(slots)
            if value is None:
                if safe:
                    return None
                raise EvaluationError("Cannot invoke method getAt() on null object")
            at = index(slots)
            if isinstance(at, str) and not isinstance(value, JavaMap):
                return methods.read_property(value, str(at), slots[0])
            if isinstance(value, str) and not value.isascii():
                return by_units(at_index, str(value), (at,))
            if isinstance(value, Matcher):
                slots[0].take(patterns.steps(value.text, value.pattern.source))
            return slots[0].made(at_index(value, at)) if isinstance(at, list) else at_index(value, at)

        return run

    def _call(self, node: tree.Call) -> Run:
        if node.of is None:
            return self._own_call(node)
        arguments = [self.closure(each) if isinstance(each, tree.Closure) else self.expression(each) for each in node.arguments]
        name = node.name
        if (owner := self._static_class(node.of)) is not None and name not in ("getName", "getSimpleName"):
            return self._static_call(node, owner, arguments)
        if name not in methods.KNOWN:
            raise ScriptError(f"The method {name} is not known", node.place)
        of = self.expression(node.of)
        self._check_pattern(node)
        call = methods.call
        if node.spread:
            return lambda slots: _spread(
                of(slots), lambda each: call(each, name, tuple(run(slots) for run in arguments), slots[0]), slots[0]
            )
        if node.safe:
            return lambda slots: (
                None if (value := of(slots)) is None else call(value, name, tuple(run(slots) for run in arguments), slots[0])
            )
        return lambda slots: call(of(slots), name, tuple([run(slots) for run in arguments]), slots[0])

    def _check_pattern(self, node: tree.Call) -> None:
        if node.name in ("matches", "replaceAll", "replaceFirst", "split") and node.arguments:
            _check_constant_pattern(node.arguments[0])

    def _static_call(self, node: tree.Call, owner: str, arguments: list[Run]) -> Run:
        method = methods.STATIC.get((owner, node.name))
        if method is None:
            raise ScriptError(f"The method {owner}.{node.name} is not known", node.place)
        found = method

        def run(slots: Slots) -> Any:
            values = [argument(slots) for argument in arguments]
            for each in values:
                slots[0].look(each)
            try:
                return slots[0].made(found(*values))
            except TypeError:
                kinds = ", ".join(map(class_of, values))
                raise EvaluationError(f"No signature of method {owner}.{node.name}() is applicable for argument types: ({kinds})") from None

        return run

    def _own_call(self, node: tree.Call) -> Run:
        """``name(...)``: only closures of the script have no object before them."""
        slot = self.scope.find(node.name)
        if slot is None or slot not in self.scope.closures:
            raise ScriptError(f"The method {node.name} is not known", node.place)
        arguments = [self.expression(each) for each in node.arguments]

        def run(slots: Slots) -> Any:
            slots[0].take()
            return slots[slot](*[argument(slots) for argument in arguments])

        return run

    def _unary(self, node: tree.Unary) -> Run:
        operand, sign = self.expression(node.operand), node.operator
        if sign == "!":
            return lambda slots: not truth(operand(slots))
        if sign == "~":
            _check_constant_pattern(node.operand)
            return lambda slots: _pattern(operand(slots))
        if isinstance(node.operand, tree.Constant) and is_number(node.operand.value):
            value = _smallest(negated(node.operand.value)) if sign == "-" else node.operand.value
            return lambda _slots: value
        return lambda slots: _signed(sign, operand(slots))

    def _binary(self, node: tree.Binary) -> Run:
        left, right, sign = self.expression(node.left), self.expression(node.right), node.operator
        if sign in ("==", "!=") and isinstance(node.right, tree.Constant) and type(node.right.value) is str:
            return _equals_text(left, node.right.value, negated=sign == "!=")
        if sign in _COMPARISONS:
            return _comparison(_COMPARISONS[sign], left, right)
        if sign in ("in", "!in"):
            holds = self.membership(node.right)
            return lambda slots: holds(slots, left(slots)) is (sign == "in")
        if sign in ("==~", "=~"):
            _check_constant_pattern(node.right)
            whole = sign == "==~"
            return lambda slots: _matched(left(slots), right(slots), slots[0], whole=whole)
        if sign in ("===", "!=="):
            raise ScriptError(f"The operator '{sign}' is not supported", node.place)
        return _calculation(sign, left, right)

    def membership(self, node: tree.Node) -> Callable[[Slots, Any], bool]:
        """Compile the container of ``in``, or the label of a ``case``, into a test of values."""
        container = self.closure(node) if isinstance(node, tree.Closure) else self.expression(node)
        if not isinstance(node, tree.Range):
            return lambda slots, value: operators.within(value, container(slots), slots[0])
        low, high, exclusive = self.expression(node.low), self.expression(node.high), node.exclusive

        def holds(slots: Slots, value: Any) -> bool:
            found = operators.in_range(value, low(slots), high(slots), exclusive=exclusive)
            return operators.within(value, container(slots), slots[0]) if found is None else found

        return holds

    def _logical(self, node: tree.Logical) -> Run:
        operands = [self.expression(each) for each in node.operands]
        if node.operator == "&&":
            return lambda slots: all(truth(operand(slots)) for operand in operands)
        return lambda slots: any(truth(operand(slots)) for operand in operands)

    def _conditional(self, node: tree.Conditional) -> Run:
        condition, then, otherwise = self.expression(node.condition), self.expression(node.then), self.expression(node.otherwise)
        return lambda slots: then(slots) if truth(condition(slots)) else otherwise(slots)

    def _elvis(self, node: tree.Elvis) -> Run:
        value, otherwise = self.expression(node.value), self.expression(node.otherwise)
        return lambda slots: found if truth(found := value(slots)) else otherwise(slots)

    def _of_type(self, node: tree.OfType) -> Run:
        value, kind, cast = self.expression(node.value), node.type, node.operator == "cast"
        if node.operator.endswith("instanceof") and kind[0].islower():
            raise ScriptError(f"{kind} is no class", node.place)
        if node.operator == "instanceof":
            return lambda slots: is_instance(value(slots), kind)
        if node.operator == "!instanceof":
            return lambda slots: not is_instance(value(slots), kind)
        return lambda slots: to_type(value(slots), kind, cast=cast)

    def _range(self, node: tree.Range) -> Run:
        low, high, exclusive = self.expression(node.low), self.expression(node.high), node.exclusive
        return lambda slots: slots[0].made(_range(low(slots), high(slots), exclusive=exclusive))

    def _list(self, node: tree.ListLiteral) -> Run:
        items = [self.expression(each) for each in node.items]
        return lambda slots: slots[0].made([item(slots) for item in items])

    def _map(self, node: tree.MapLiteral) -> Run:
        entries = [(self.expression(key), self.expression(value)) for key, value in node.entries]
        return lambda slots: slots[0].made(JavaMap([(key(slots), value(slots)) for key, value in entries]))


def _spread(value: Any, read: Callable[[Any], Any], budget: Budget) -> Any:
    """``value*.name``: of each member; null for null, and for each member that is null."""
    if value is None:
        return None
    items = items_of(value)
    budget.take(len(items))
    return budget.made([None if each is None else read(each) for each in items])


def _equals_text(left: Run, wanted: str, *, negated: bool) -> Run:
    def run(slots: Slots) -> bool:
        value = left(slots)
        return (value == wanted if type(value) is str else equal(value, wanted)) is not negated

    return run


def _check_constant_pattern(node: tree.Node) -> None:
    if isinstance(node, tree.Constant) and isinstance(node.value, str):
        try:
            patterns.bounded(node.value)
        except ValueError as error:
            raise ScriptError(f"Regular expression: {error}", node.place) from None


def _matched(text: Any, pattern: Any, budget: Budget, *, whole: bool) -> Any:
    if whole and (text is None or pattern is None):
        return False
    shown = text.text if isinstance(text, Range) else _shown(text, budget)
    source = pattern.source if isinstance(pattern, Pattern) else text_of(pattern)
    if whole:
        return operators.matched(shown, source, budget)
    budget.take(patterns.steps(shown, source))
    return patterns.matcher(shown, source)


def _shown(value: Any, budget: Budget) -> str:
    if not isinstance(value, str):
        budget.look(value)
    return text_of(value)


_FLAT: Final = frozenset((int, Long, float, bool, Decimal, NoneType))
"""Kinds of values that an operator works on in one step."""


def _comparison(test: Callable[[Any, Any], Any], left: Run, right: Run) -> Run:
    def run(slots: Slots) -> Any:
        one, other = left(slots), right(slots)
        if type(one) not in _FLAT and type(other) not in _FLAT:
            slots[0].look(one)
            slots[0].look(other)
        return test(one, other)

    return run


def _calculation(sign: str, left: Run, right: Run) -> Run:
    def run(slots: Slots) -> Any:
        one, other = left(slots), right(slots)
        if type(one) in _FLAT and type(other) in _FLAT:
            return operators.binary(sign, one, other)
        return operators.calculated(slots[0], sign, one, other)

    return run


def _pattern(value: Any) -> Any:
    if not isinstance(value, str):
        raise EvaluationError(f"A {class_of(value)} is no regular expression")
    return patterns.compiled(str(value)).pattern


def _smallest(value: Any) -> Any:
    """-2147483648 is an Integer, although 2147483648 is a Long."""
    return int(value) if isinstance(value, int) and int(value) == -(2**31) else value


def _signed(sign: str, value: Any) -> Any:
    if type(value) is list:
        return [_signed(sign, each) for each in value]
    if not is_number(value):
        raise EvaluationError(f"The operator '{sign}' is not defined for {class_of(value)}")
    return negated(value) if sign == "-" else value


def _range(low: Any, high: Any, *, exclusive: bool) -> Range:
    text = f"{text_of(low)}..{'<' if exclusive else ''}{text_of(high)}"
    if isinstance(low, str) and isinstance(high, str) and len(low) == len(high) == 1:
        return Range((chr(code) for code in _range(ord(low), ord(high), exclusive=exclusive)), text)
    if not is_number(low) or not is_number(high):
        raise EvaluationError(f"A range from {class_of(low)} to {class_of(high)} is not supported")
    if type(low) is not int or type(high) is not int:
        return _number_range(low, high, text, exclusive=exclusive)
    list_of_length(abs(high - low) + 1)
    step = 1 if low <= high else -1
    return Range(range(low, high if exclusive else high + step, step), text)


def _number_range(low: Any, high: Any, text: str, *, exclusive: bool) -> Range:
    """A range whose members are ``low`` and the numbers at a distance of 1, up or down to ``high``."""
    low = int(low) if type(low) is Short else float(low) if type(low) is Float else low
    low = Long(low) if type(low) is int and type(high) is Long else low
    rising = compare(low, high) <= 0
    members: list[Any] = []
    while (order := compare(low, high)) < 0 if rising else (order := compare(low, high)) > 0:
        members.append(low)
        list_of_length(len(members))
        low = arithmetic("+" if rising else "-", low, 1)
        if low == members[-1]:
            raise EvaluationError("The members of a range do not differ")
    if order == 0 and not exclusive:
        members.append(low)
    return Range(members, text, by_value=True)
