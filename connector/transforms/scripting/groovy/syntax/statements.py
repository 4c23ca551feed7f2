"""Statements of a script: declarations, assignments, ``if``, ``for``, ``switch``, ``return`` and expressions."""

from __future__ import annotations

from typing import Final

from connector.transforms.scripting.groovy.syntax import tree
from connector.transforms.scripting.groovy.syntax.lexer import tokens
from connector.transforms.scripting.groovy.syntax.parser import Parser
from connector.transforms.scripting.groovy.syntax.words import TYPES
from connector.transforms.scripting.problem import Place, ScriptError

_ARITHMETIC: Final = ("+=", "-=", "*=", "/=")
# fmt: off
_UNSUPPORTED: Final = frozenset(
    [
        "while", "do", "try", "throw", "import", "package", "class", "interface", "enum", "assert", "synchronized", "goto",
        "trait", "abstract", "static", "private", "public", "protected",
    ]
)
# fmt: on


def parse(script: str) -> tree.Block:
    """Return the tree of a script. Raises ScriptError."""
    return Statements(tokens(script)).script()


class Statements(Parser):
    """Reads a whole script."""

    def script(self) -> tree.Block:
        """Read all of it."""
        place = self.here.place
        found = self._statements()
        if self.here.kind != "end":
            self.unexpected("The end of the statement is expected")
        return tree.Block(place, found)

    def block(self, place: Place) -> tree.Block:
        """Read statements up to the closing brace, and that. The opening one has been read."""
        found = self._statements()
        self.need("}")
        return tree.Block(place, found)

    def _statements(self) -> tuple[tree.Node, ...]:
        found: list[tree.Node] = []
        self._between()
        while self.here.kind != "end" and not self.is_("}", "case", "default"):
            found.append(self._statement())
            if self.here.kind not in ("newline", "end") and not self.is_(";", "}"):
                break
            self._between()
        return tuple(found)

    def _between(self) -> None:
        while self.here.kind == "newline" or self.is_(";"):
            self.take()

    def _statement(self) -> tree.Node:
        self._deeper()
        token = self.here
        if token.kind == "name" and token.text in _UNSUPPORTED:
            raise ScriptError(f"'{token.text}' is not supported", token.place)
        if token.kind != "name":
            found = self.expression()
        elif token.text == "if":
            found = self._if()
        elif token.text == "for":
            found = self._for()
        elif token.text == "switch":
            found = self._switch()
        elif token.text in ("break", "continue"):
            self.take()
            found = tree.Leave(token.place, token.text)
        elif token.text == "return":
            self.take()
            empty = self.here.kind in ("newline", "end") or self.is_(";", "}")
            found = tree.Return(token.place, None if empty else self.expression())
        else:
            found = self._declaration() or self._assignment() or self.expression()
        self.depth -= 1
        return found

    def _declaration(self) -> tree.Node | None:
        """Read ``def name = value`` or ``Type name = value``; None where something else comes."""
        at = self.at
        while self.is_("final", "def", "var"):
            self.take()
        declared = self.at > at
        kind = None
        if self.here.kind == "name" and self.here.text in TYPES and self.found[self.at + 1].text not in (".", "=", "(", "["):
            kind = self.type()
        if not declared and (kind is None or self.here.kind != "name"):
            self.at = at
            return None
        if self.is_("("):
            raise ScriptError("Several variables in one declaration are not supported", self.here.place)
        name = self.name()
        if self.is_("("):
            raise ScriptError("Methods are not supported; use a closure", name.place)
        if self.accept("="):
            self.skip_lines()
            return tree.Declare(name.place, name.text, kind, self.expression())
        return tree.Declare(name.place, name.text, kind, None)

    def _assignment(self) -> tree.Node | None:
        token, operator = self.here, self.found[self.at + 1]
        if operator.kind == "operator" and operator.text in ("++", "--"):
            self.name()
            self.take()
            one = tree.Constant(operator.place, 1)
            return tree.Assign(token.place, token.text, tree.Binary(operator.place, operator.text, tree.Name(token.place, token.text), one))
        if operator.kind != "operator" or operator.text not in ("=", *_ARITHMETIC):
            return None
        name = self.name()
        self.take()
        self.skip_lines()
        value = self.expression()
        if operator.text in _ARITHMETIC:
            value = tree.Binary(operator.place, operator.text[0], tree.Name(token.place, name.text), value)
        return tree.Assign(name.place, name.text, value)

    def _if(self) -> tree.Node:
        place = self.need("if").place
        condition = self._in_parentheses()
        then = self._body()
        at = self.at
        self._between()
        if self.accept("else"):
            return tree.If(place, condition, then, self._body())
        self.at = at
        return tree.If(place, condition, then, None)

    def _in_parentheses(self) -> tree.Node:
        self.need("(")
        self.skip_lines()
        found = self.expression()
        self.skip_lines()
        self.need(")")
        return found

    def _body(self) -> tree.Node:
        self.skip_lines()
        if self.is_("{"):
            return self.block(self.take().place)
        return self._statement()

    def _for(self) -> tree.Node:
        place = self.need("for").place
        self.need("(")
        if self.is_("def", "final", "var"):
            self.take()
        if self.here.text in TYPES and self.found[self.at + 1].kind == "name":
            self.type()
        name = self.name().text
        if not self.accept("in", ":"):
            raise ScriptError("Only 'for (name in values)' is supported", self.here.place)
        values = self.expression()
        self.need(")")
        return tree.For(place, name, values, self._body())

    def _switch(self) -> tree.Node:
        place = self.need("switch").place
        value = self._in_parentheses()
        self.need("{")
        self._between()
        cases: list[tuple[tree.Node | None, tree.Block]] = []
        while not self.is_("}"):
            label = None
            at = self.here.place
            if not self.accept("default"):
                self.need("case")
                label = self.expression()
            if self.is_("->"):
                raise ScriptError("'case ... ->' is not supported; use 'case ...:'", self.here.place)
            self.need(":")
            cases.append((label, tree.Block(at, self._statements())))
        self.need("}")
        return tree.Switch(place, value, tuple(cases))
