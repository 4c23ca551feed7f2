"""Makes a tree of a script, by recursive descent: expressions here, statements in :mod:`.statements`.

The levels are those of the Groovy language documentation, "Operator precedence".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final, NoReturn

from connector.transforms.scripting.groovy.syntax import tree
from connector.transforms.scripting.groovy.syntax.token import Token
from connector.transforms.scripting.groovy.syntax.words import RESERVED, TYPES
from connector.transforms.scripting.problem import Place, ScriptError

_DEEPEST: Final = 50
"""How deep expressions may be nested: reading, compiling and running each take some frames of Python's stack for each level."""
_LONGEST_CHAIN: Final = 100
_LEVELS: Final = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("=~", "==~"),
    ("==", "!=", "<=>", "===", "!=="),
    ("<", "<=", ">", ">=", "in", "!in", "instanceof", "!instanceof", "as"),
    ("<<", ">>", "..", "..<", "<.."),
    ("+", "-"),
    ("*", "/", "%"),
)
_LEVEL: Final = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
_SAME_LINE: Final = ("+", "-", "<<", ">>", "as", "*", "in", "instanceof")
"""Operators that do not go on with an expression of the line before."""


class Parser(ABC):
    """Reads the expressions of one script. Raises ScriptError."""

    def __init__(self, found: list[Token], depth: int = 0) -> None:
        self.found = found
        self.at = 0
        self.depth = depth

    @property
    def here(self) -> Token:
        """The next token."""
        return self.found[self.at]

    def is_(self, *texts: str) -> bool:
        """Whether the next token is one of these operators or names."""
        return self.here.kind in ("operator", "name") and self.here.text in texts

    def take(self) -> Token:
        """Go on to the next token."""
        token = self.found[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def accept(self, *texts: str) -> Token | None:
        """Take the next token if it is one of these."""
        return self.take() if self.is_(*texts) else None

    def need(self, text: str) -> Token:
        """Take this token."""
        if not self.is_(text):
            self.unexpected(f"'{text}' is expected")
        return self.take()

    def unexpected(self, wanted: str = "") -> NoReturn:
        """Refuse the next token."""
        raise ScriptError(f"{wanted or 'An expression is expected'}, but found {self.here.shown}", self.here.place)

    def name(self) -> Token:
        """Take a name that is no keyword."""
        if self.here.kind != "name" or self.here.text in RESERVED:
            self.unexpected("A name is expected")
        return self.take()

    def skip_lines(self) -> None:
        """Go over ends of lines."""
        while self.here.kind == "newline":
            self.at += 1

    def _over_lines(self, *texts: str) -> bool:
        """Whether one of these comes next, perhaps on a later line; the ends of lines before it are taken then."""
        at = self.at
        self.skip_lines()
        if self.is_(*texts) and (self.at == at or self.here.text not in _SAME_LINE):
            return True
        self.at = at
        return False

    def expression(self) -> tree.Node:
        """Read an expression."""
        self._deeper()
        condition = self._binary(0)
        found = condition
        if self._over_lines("?"):
            place = self.take().place
            self.skip_lines()
            then = self.expression()
            self.skip_lines()
            self.need(":")
            self.skip_lines()
            found = tree.Conditional(place, condition, then, self.expression())
        elif self._over_lines("?:"):
            place = self.take().place
            self.skip_lines()
            found = tree.Elvis(place, condition, self.expression())
        self.depth -= 1
        return found

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ScriptError(f"Expressions are nested more than {_DEEPEST} deep", self.here.place)

    def _binary(self, lowest: int) -> tree.Node:
        left = self._signed()
        chain = 0
        while self._over_lines(*_LEVEL) and (level := _LEVEL[self.here.text]) >= lowest:
            operator = self.take()
            self.skip_lines()
            if operator.text in ("||", "&&"):
                left = self._logical(operator, left, level)
                continue
            chain += 1
            if chain > _LONGEST_CHAIN:
                raise ScriptError(f"An expression has more than {_LONGEST_CHAIN} operators in a row", operator.place)
            if operator.text in ("instanceof", "!instanceof", "as"):
                left = tree.OfType(operator.place, operator.text, left, self.type())
                continue
            right = self._binary(level + 1)
            if operator.text in ("..", "..<"):
                left = tree.Range(operator.place, left, right, exclusive=operator.text == "..<")
            elif operator.text in (">>", "<.."):
                raise ScriptError(f"The operator '{operator.text}' is not supported", operator.place)
            else:
                left = tree.Binary(operator.place, operator.text, left, right)
        return left

    def _logical(self, operator: Token, left: tree.Node, level: int) -> tree.Node:
        operands = [left, self._binary(level + 1)]
        while self._over_lines(operator.text):
            self.take()
            self.skip_lines()
            operands.append(self._binary(level + 1))
        return tree.Logical(operator.place, operator.text, tuple(operands))

    def type(self) -> str:
        """Read the name of a type; packages and type arguments are left out."""
        token = self.name()
        name = token.text
        while self.is_(".") and name[:1].islower():
            self.take()
            name = self.name().text
        if name not in TYPES:
            raise ScriptError(f"The class {name} is not known here", token.place)
        if self.is_("<"):
            depth = 0
            while True:
                text = self.take().text
                depth += (text == "<") - (text == ">") - 2 * (text == ">>")
                if depth <= 0:
                    break
                if self.here.kind == "end":
                    self.unexpected("'>' is expected")
        if self.is_("["):
            raise ScriptError("Arrays are not supported", self.here.place)
        return name

    def _signed(self) -> tree.Node:
        if self.is_("+", "-"):
            sign = self.take()
            self._deeper()
            found: tree.Node = tree.Unary(sign.place, sign.text, self._signed())
            self.depth -= 1
            return found
        if self.is_("++", "--"):
            raise ScriptError(f"The operator '{self.here.text}' is not supported", self.here.place)
        left = self._negated()
        for _ in range(_LONGEST_CHAIN):
            if not self.is_("**"):
                break
            place = self.take().place
            self.skip_lines()
            before = self.accept("-", "+")
            right = self._negated()
            left = tree.Binary(place, "**", left, right if before is None else tree.Unary(before.place, before.text, right))
        return left

    def _negated(self) -> tree.Node:
        if self.is_("!", "~"):
            sign = self.take()
            self._deeper()
            found: tree.Node = tree.Unary(sign.place, sign.text, self._negated())
            self.depth -= 1
            return found
        return self._postfix(self._primary())

    def _postfix(self, node: tree.Node) -> tree.Node:
        for _ in range(_LONGEST_CHAIN):
            if self._over_lines(".", "?.", "*.", ".&"):
                node = self._member(node)
            elif self.is_("[", "?["):
                opening = self.take()
                self.skip_lines()
                index = self._index(opening)
                self.skip_lines()
                self.need("]")
                node = tree.Index(opening.place, node, index, safe=opening.text == "?[")
            elif self.is_("(", "@"):
                raise ScriptError(f"'{self.here.text}' is not supported here", self.here.place)
            else:
                return node
        raise ScriptError(f"More than {_LONGEST_CHAIN} properties and calls follow each other", self.here.place)

    def _index(self, opening: Token) -> tree.Node:
        first = self.expression()
        if not self.is_(","):
            return first
        items = [first]
        while self.accept(","):
            items.append(self.expression())
        return tree.ListLiteral(opening.place, tuple(items))

    def _member(self, node: tree.Node) -> tree.Node:
        dot = self.take()
        if dot.text == ".&":
            raise ScriptError("Method pointers are not supported", dot.place)
        self.skip_lines()
        token = self.take()
        if token.kind not in ("name", "string"):
            self.at -= 1
            self.unexpected("The name of a property or a method is expected")
        name = token.text if token.kind == "name" else str(token.value)
        safe, spread = dot.text == "?.", dot.text == "*."
        if self.is_("(") or (token.kind == "name" and self.is_("{")):
            return tree.Call(token.place, node, name, self.arguments(), safe, spread)
        return tree.Property(token.place, node, name, safe, spread)

    def arguments(self) -> tuple[tree.Node, ...]:
        """Read the arguments of a call, and the closure after them."""
        found: list[tree.Node] = []
        if self.accept("("):
            self.skip_lines()
            while not self.is_(")"):
                found.append(self.expression())
                self.skip_lines()
                if not self.is_(")"):
                    self.need(",")
                    self.skip_lines()
            self.take()
        if self.is_("{"):
            found.append(self.closure())
        return tuple(found)

    def _primary(self) -> tree.Node:
        token = self.here
        match token.kind:
            case "number" | "string":
                self.take()
                return tree.Constant(token.place, token.value)
            case "gstring":
                self.take()
                return self._gstring(token)
            case "name":
                return self._named(token)
            case "operator" if token.text == "(":
                return self._parenthesis()
            case "operator" if token.text == "[":
                return self._collection()
            case "operator" if token.text == "{":
                return self.closure()
        return self.unexpected()

    def _named(self, token: Token) -> tree.Node:
        words = {"true": True, "false": False, "null": None}
        if token.text in words:
            self.take()
            return tree.Constant(token.place, words[token.text])
        if token.text in ("new", "this", "super"):
            raise ScriptError(f"'{token.text}' is not supported", token.place)
        self.name()
        if self.is_("("):
            return tree.Call(token.place, None, token.text, self.arguments())
        return tree.Name(token.place, token.text)

    def _gstring(self, token: Token) -> tree.Node:
        parts: list[str | tree.Node] = []
        for part in token.value:
            if isinstance(part, str):
                parts.append(part)
                continue
            inner = type(self)(part, self.depth)
            inner.skip_lines()
            if inner.is_("->"):
                raise ScriptError("Closures in strings are not supported", inner.here.place)
            parts.append(tree.Constant(token.place, None) if inner.here.kind == "end" else inner.expression())
            inner.skip_lines()
            if inner.here.kind != "end":
                inner.unexpected("'}' is expected")
        return tree.Text(token.place, tuple(parts))

    def _parenthesis(self) -> tree.Node:
        opening = self.need("(")
        self.skip_lines()
        if self.here.kind == "name" and self.here.text in TYPES and self.found[self.at + 1].text == ")" and self._operand_at(self.at + 2):
            name = self.take().text
            self.take()
            return tree.OfType(opening.place, "cast", self._signed(), name)
        found = self.expression()
        self.skip_lines()
        if self.is_("="):
            raise ScriptError("An assignment within an expression is not supported", self.here.place)
        self.need(")")
        return found

    def _operand_at(self, at: int) -> bool:
        token = self.found[at]
        return (
            token.kind in ("number", "string", "gstring")
            or (token.kind == "name" and token.text not in ("in", "instanceof", "as"))
            or (token.kind == "operator" and token.text in ("(", "[", "-"))
        )

    def _collection(self) -> tree.Node:
        opening = self.need("[")
        self.skip_lines()
        if self.accept(":"):
            self.skip_lines()
            self.need("]")
            return tree.MapLiteral(opening.place, ())
        items: list[tree.Node] = []
        entries: list[tuple[tree.Node, tree.Node]] = []
        while not self.is_("]"):
            key = self._entry_key()
            if key is not None:
                entries.append((key, self.expression()))
            else:
                items.append(self.expression())
            self.skip_lines()
            if not self.is_("]"):
                self.need(",")
                self.skip_lines()
        self.take()
        if items and entries:
            raise ScriptError("A list cannot hold entries of a map", opening.place)
        return tree.MapLiteral(opening.place, tuple(entries)) if entries else tree.ListLiteral(opening.place, tuple(items))

    def _entry_key(self) -> tree.Node | None:
        """Read the key of a map's entry with its colon; None where an item of a list comes."""
        token, following = self.here, self.found[min(self.at + 1, len(self.found) - 1)]
        if following.kind == "operator" and following.text == ":" and token.kind in ("name", "string", "number", "gstring"):
            self.at += 2
            self.skip_lines()
            if token.kind == "gstring":
                return self._gstring(token)
            return tree.Constant(token.place, token.text if token.kind == "name" else token.value)
        if not self.is_("("):
            return None
        at = self.at
        key = self._parenthesis()
        if self.accept(":"):
            self.skip_lines()
            return key
        self.at = at
        return None

    def closure(self) -> tree.Closure:
        """Read a closure."""
        opening = self.need("{")
        self.skip_lines()
        parameters = self._parameters()
        body = self.block(opening.place)
        return tree.Closure(opening.place, parameters, body)

    def _parameters(self) -> tuple[str, ...] | None:
        at = self.at
        names: list[str] = []
        while not self.is_("->"):
            if self.is_("def") or (self.here.text in TYPES and self.found[self.at + 1].kind == "name"):
                self.take()
            if self.here.kind != "name" or self.here.text in RESERVED:
                self.at = at
                return None
            names.append(self.take().text)
            if not self.accept(",") and not self.is_("->"):
                self.at = at
                return None
        self.take()
        return tuple(names)

    @abstractmethod
    def block(self, place: Place) -> tree.Block:
        """Read statements up to the closing brace, and that. The opening one has been read."""
