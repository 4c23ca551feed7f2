"""A script that is ready to be evaluated for records: its statements, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from connector.record.connect_record import ConnectRecord
from connector.transforms.scripting.bindings import Bindings
from connector.transforms.scripting.groovy.budget import Budget
from connector.transforms.scripting.groovy.comparison import truth
from connector.transforms.scripting.groovy.compiler import Compiler
from connector.transforms.scripting.groovy.conversion import to_type
from connector.transforms.scripting.groovy.lambdas import Lambda, items_of
from connector.transforms.scripting.groovy.scope import Run, Slots
from connector.transforms.scripting.groovy.syntax import tree
from connector.transforms.scripting.groovy.syntax.statements import parse
from connector.transforms.scripting.problem import EvaluationError, ScriptError


class _Return(Exception):  # noqa: N818 -- it ends a script or closure, and is no error
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Leave(Exception):  # noqa: N818 -- likewise for a loop
    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word


class Program(Compiler):
    """A Groovy script. Made once, it evaluates any number of records. Raises ScriptError."""

    def __init__(self, script: str) -> None:
        super().__init__()
        self._loops = 0
        self._closures = 0
        self._bindings = Bindings()
        self._run = self._body(parse(script))
        self._size = self.scope.size

    def evaluate(self, record: ConnectRecord) -> Any:
        """Return what the script gives for a record. Raises EvaluationError."""
        slots: Slots = [Budget(), *self._bindings.of(record)]
        slots += [None] * (self._size - len(slots))
        try:
            return self._run(slots)
        except RecursionError:
            raise EvaluationError("The script's calls or values are nested too deeply") from None

    def _body(self, block: tree.Block) -> Run:
        """A script or a closure: its last statement is its value, and ``return`` ends it."""
        run = self._block(block, last=True)

        def returning(slots: Slots) -> Any:
            try:
                return run(slots)
            except _Return as returned:
                return returned.value

        return returning if any(map(_returns, block.statements)) else run

    def _block(self, block: tree.Block, *, last: bool) -> Run:
        runs = [self._statement(each, last=last and each is block.statements[-1]) for each in block.statements]
        if len(runs) == 1:
            return runs[0]

        def run(slots: Slots) -> Any:
            value = None
            for each in runs:
                value = each(slots)
            return value

        return run

    def _statement(self, node: tree.Node, *, last: bool) -> Run:
        match node:
            case tree.Block():
                with self.scope.inner():
                    return self._block(node, last=last)
            case tree.If():
                return self._if(node, last=last)
            case tree.For():
                return self._for(node)
            case tree.Switch():
                return self._switch(node)
            case tree.Leave(place, word):
                if not self._loops:
                    raise ScriptError(f"'{word}' is not in a loop", place)
                return lambda _slots: _leave(word)
            case tree.Return(_, value):
                found = self.expression(tree.Constant(node.place, None) if value is None else value)
                return found if last else lambda slots: _return(found(slots))
            case tree.Declare():
                return self._declare(node)
            case tree.Assign():
                return self._assign(node)
        return self.expression(node)

    def _declare(self, node: tree.Declare) -> Run:
        if self.scope.declared_here(node.name):
            raise ScriptError(f"The variable {node.name} is declared twice", node.place)
        if isinstance(node.value, tree.Closure):
            if self._closures:
                raise ScriptError("A closure within a closure can only be an argument of a method", node.place)
            run = self.closure(node.value)
            slot = self.scope.declare(node.name)
            self.scope.closures.add(slot)
        else:
            run = self.expression(tree.Constant(node.place, None) if node.value is None else node.value)
            slot = self.scope.declare(node.name)
            if node.type is not None:
                self.scope.types[slot] = node.type
        return self._stored(slot, run)

    def _assign(self, node: tree.Assign) -> Run:
        slot = self.scope.find(node.name)
        if isinstance(node.value, tree.Closure) or slot in self.scope.closures:
            raise ScriptError("A closure can only be the value of a declaration", node.place)
        run = self.expression(node.value)
        return self._stored(self.scope.declare(node.name) if slot is None else slot, run)

    def _stored(self, slot: int, run: Run) -> Run:
        kind = self.scope.types.get(slot)

        def store(slots: Slots) -> Any:
            value = run(slots)
            slots[slot] = value if kind is None else to_type(value, kind, cast=True)
            return slots[slot]

        return store

    def _if(self, node: tree.If, *, last: bool) -> Run:
        condition = self.expression(node.condition)
        with self.scope.inner():
            then = self._statement(node.then, last=last)
        if node.otherwise is None:
            return lambda slots: then(slots) if truth(condition(slots)) else None
        with self.scope.inner():
            otherwise = self._statement(node.otherwise, last=last)
        return lambda slots: then(slots) if truth(condition(slots)) else otherwise(slots)

    def _for(self, node: tree.For) -> Run:
        values = self.expression(node.values)
        self._loops += 1
        with self.scope.inner():
            slot = self.scope.declare(node.name)
            body = self._statement(node.body, last=False)
        self._loops -= 1

        def run(slots: Slots) -> None:
            for each in items_of(values(slots)):
                slots[0].take()
                slots[slot] = each
                try:
                    body(slots)
                except _Leave as leave:
                    if leave.word == "break":
                        break

        return run

    def _switch(self, node: tree.Switch) -> Run:
        value = self.expression(node.value)
        cases: list[tuple[Callable[[Slots, Any], bool] | None, list[Run]]] = []
        self._loops += 1
        for label, block in node.cases:
            with self.scope.inner():
                test = None if label is None else self.membership(label)
                cases.append((test, [self._statement(each, last=False) for each in block.statements]))
        self._loops -= 1
        otherwise = next((at for at, (test, _) in enumerate(cases) if test is None), len(cases))

        def run(slots: Slots) -> Any:
            found = value(slots)
            start = next((at for at, (test, _) in enumerate(cases) if test is not None and test(slots, found)), otherwise)
            last = None
            try:
                for _, statements in cases[start:]:
                    for statement in statements:
                        last = statement(slots)
            except _Leave as leave:
                if leave.word == "continue":
                    raise
            return last

        return run

    def closure(self, node: tree.Closure) -> Run:
        """Compile a closure. Its variables have slots of their own, so it cannot call itself."""
        self._closures += 1
        loops, self._loops = self._loops, 0
        with self.scope.inner():
            parameters = [self.scope.declare(name) for name in (("it",) if node.parameters is None else node.parameters)]
            body = self._body(node.body)
        self._loops = loops
        self._closures -= 1
        arity = len(parameters)

        def run(slots: Slots) -> Lambda:
            def call(arguments: tuple[Any, ...]) -> Any:
                for slot, value in zip(parameters, arguments, strict=False):
                    slots[slot] = value
                return body(slots)

            return Lambda(arity, call)

        return run


def _return(value: Any) -> Any:
    raise _Return(value)


def _leave(word: str) -> Any:
    raise _Leave(word)


def _returns(node: tree.Node) -> bool:
    """Whether a ``return`` stands in a statement, outside of closures."""
    match node:
        case tree.Return():
            return True
        case tree.Block(_, statements):
            return any(map(_returns, statements))
        case tree.If(_, _, then, otherwise):
            return _returns(then) or (otherwise is not None and _returns(otherwise))
        case tree.For(_, _, _, body):
            return _returns(body)
        case tree.Switch(_, _, cases):
            return any(_returns(block) for _, block in cases)
    return False
