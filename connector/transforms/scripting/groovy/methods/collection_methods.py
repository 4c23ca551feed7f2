"""The methods of lists, sets and maps, and Groovy's additions to them.

Only ``sort``, ``unique`` and ``add`` change their list, and never one of the record.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any, Final

from connector.transforms.scripting.groovy import operators
from connector.transforms.scripting.groovy.budget import Budget, list_of_length, text_of_length
from connector.transforms.scripting.groovy.comparison import alike, compare, equal, java_equal, truth
from connector.transforms.scripting.groovy.conversion import unique
from connector.transforms.scripting.groovy.indexing import at_index
from connector.transforms.scripting.groovy.lambdas import Lambda, closure, items_of, passes
from connector.transforms.scripting.groovy.text import text_of
from connector.transforms.scripting.groovy.values import JavaMap, JavaSet, MapEntry, Range, class_of, identity
from connector.transforms.scripting.problem import EvaluationError

Method = Callable[..., Any]


_DEEPEST: Final = 50


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise EvaluationError(f"A list is expected, not a {class_of(value)}")
    return value


def _count_of(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise EvaluationError(f"A whole number is expected, not a {class_of(value)}")
    return max(0, int(value))


def _first(items: list[Any]) -> Any:
    if not items:
        raise EvaluationError("An empty list has no first or last member")
    return items[0]


def _get(items: list[Any], index: Any) -> Any:
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(items):
        raise EvaluationError("An index lies outside of its list")
    return items[index]


def _like(original: list[Any], items: list[Any]) -> list[Any]:
    return JavaSet(items) if isinstance(original, JavaSet) else items


def _flatten(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    waiting = [iter(items)]
    while waiting:
        each = next(waiting[-1], waiting)
        if each is waiting:
            waiting.pop()
        elif isinstance(each, list):
            waiting.append(iter(each))
            if len(waiting) > _DEEPEST:
                raise EvaluationError(f"Lists are nested more than {_DEEPEST} deep")
        else:
            found.append(each)
    list_of_length(len(found))
    return found


def _join(items: list[Any], separator: Any = "") -> str:
    parts = [text_of(each) for each in items]
    text_of_length(sum(map(len, parts)) + len(parts) * len(text_of(separator)))
    return text_of(separator).join(parts)


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((at for at, each in enumerate(items) if java_equal(each, wanted)), -1)


def _contains(budget: Budget, items: list[Any], wanted: Any) -> bool:
    return operators.within(wanted, items, budget)


def _found_at(budget: Budget, items: list[Any], wanted: Any) -> int:
    budget.search(items, wanted)
    return _index_of(items, wanted)


def _contains_all(budget: Budget, items: list[Any], wanted: Any) -> bool:
    return all(_found_at(budget, items, each) >= 0 for each in _list(wanted))


def _common(budget: Budget, items: list[Any], other: Any) -> list[Any]:
    wanted = _list(other)

    def known(each: Any) -> bool:
        budget.search(wanted, each)
        return any(alike(each, one) for one in wanted)

    return _like(items, [each for each in items if known(each)])


def _plus(budget: Budget, items: Any, other: Any) -> Any:
    return operators.calculated(budget, "+", items, other)


def _minus(budget: Budget, items: list[Any], other: Any) -> Any:
    return operators.calculated(budget, "-", items, other)


def _add(items: list[Any], item: Any) -> bool:
    if type(items) is not list:
        raise EvaluationError(f"add is not supported for a {class_of(items)}")
    operators.binary("<<", items, item)
    return True


SIMPLE: Final[dict[str, Method]] = {
    "size": len,
    "isEmpty": lambda items: not items,
    "get": _get,
    "getAt": at_index,
    "first": _first,
    "head": _first,
    "last": lambda items: _first(items[::-1]),
    "tail": lambda items: items[1:] if items else _first(items),
    "init": lambda items: items[:-1] if items else _first(items),
    "join": _join,
    "reverse": lambda items: items[::-1],
    "add": _add,
    "toList": list,
    "toSet": unique,
    "flatten": _flatten,
    "take": lambda items, count: _like(items, items[: _count_of(count)]),
    "drop": lambda items, count: _like(items, items[_count_of(count) :]),
    "equals": equal,
    "subList": lambda items, start, end: items[_count_of(start) : _count_of(end)],
}


def _any(budget: Budget, items: Any, test: Lambda | None = None) -> bool:
    return any(truth(each) if test is None else _test(budget, test, each) for each in items_of(items))


def _every(budget: Budget, items: Any, test: Lambda | None = None) -> bool:
    return all(truth(each) if test is None else _test(budget, test, each) for each in items_of(items))


def _test(budget: Budget, test: Any, item: Any) -> bool:
    budget.take()
    return passes(closure(test), item)


def _find(budget: Budget, items: Any, test: Any = None) -> Any:
    return next((each for each in items_of(items) if (truth(each) if test is None else _test(budget, test, each))), None)


def _find_all(budget: Budget, items: Any, test: Any = None) -> Any:
    found = [each for each in items_of(items) if (truth(each) if test is None else _test(budget, test, each))]
    if isinstance(items, JavaMap):
        return JavaMap([(each.key, each.value) for each in found])
    return _like(items, found)


def _collect(budget: Budget, items: Any, change: Any = None) -> list[Any]:
    return [each if change is None else _run(budget, change, each) for each in items_of(items)]


def _run(budget: Budget, change: Any, item: Any) -> Any:
    budget.take()
    return closure(change).of_entry(item) if isinstance(item, MapEntry) else closure(change)(item)


def _each(budget: Budget, items: Any, change: Any) -> Any:
    for each in items_of(items):
        _run(budget, change, each)
    return items


def _each_with_index(budget: Budget, items: list[Any], change: Any) -> Any:
    for at, each in enumerate(items):
        budget.take()
        closure(change)(each, at)
    return items


def _count(budget: Budget, items: Any, wanted: Any) -> int:
    if isinstance(wanted, Lambda):
        return sum(_test(budget, wanted, each) for each in items_of(items))
    budget.look(items)
    return sum(equal(each, wanted) for each in items_of(items))


def _sum(budget: Budget, items: list[Any], change: Any = None) -> Any:
    values = [each if change is None else _run(budget, change, each) for each in items]
    if not values:
        return None
    if all(type(each) is str for each in values):
        return _join(values)
    total = values[0]
    for each in values[1:]:
        total = operators.calculated(budget, "+", total, each)
    return total


def _extreme(sign: int) -> Method:
    def found(budget: Budget, items: list[Any], change: Any = None) -> Any:
        budget.look(items)
        best: tuple[Any, Any] | None = None
        for each in items:
            value = each if change is None else _run(budget, change, each)
            if change is None and value is None:
                continue
            if best is None or compare(value, best[0]) * sign > 0:
                best = value, each
        return None if best is None else best[1]

    return found


def _sort(budget: Budget, items: list[Any], change: Any = None) -> list[Any]:
    budget.take(len(items) * max(1, len(items).bit_length()))
    budget.look(items)
    if change is None:
        return sorted(items, key=cmp_to_key(compare))
    if closure(change).arity == 2:
        return sorted(items, key=cmp_to_key(lambda one, other: int(_compared(budget, change, one, other))))
    keyed: list[tuple[Any, Any]] = [(_run(budget, change, each), each) for each in items]
    return [each for _, each in sorted(keyed, key=cmp_to_key(_by_first))]


def _by_first(one: tuple[Any, Any], other: tuple[Any, Any]) -> int:
    return compare(one[0], other[0])


def _in_place(method: Method) -> Method:
    """The same for a list itself, which it changes."""

    def run(budget: Budget, items: list[Any], *arguments: Any) -> list[Any]:
        if isinstance(items, Range):
            raise EvaluationError("A range cannot be changed")
        items[:] = method(budget, items, *arguments)
        return items

    return run


def _compared(budget: Budget, change: Lambda, one: Any, other: Any) -> int:
    budget.take()
    found = change(one, other)
    if not isinstance(found, int):
        raise EvaluationError(f"A comparison gives a {class_of(found)}, not an Integer")
    return found


def _unique_of(budget: Budget, items: list[Any], change: Any = True) -> list[Any]:
    """``unique()`` and ``unique(true)`` change their list; ``unique(false)`` does not."""
    if not isinstance(change, bool):
        raise EvaluationError(f"unique with a {class_of(change)} is not supported")
    return _in_place(_unique)(budget, items) if change else _unique(budget, items)


def _unique(budget: Budget, items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for each in items:
        budget.take(len(found))
        if not any(compare(each, known) == 0 if operators.ordered(each, known) else equal(each, known) for known in found):
            found.append(each)
    return found


def _inject(budget: Budget, items: Any, start: Any, change: Any) -> Any:
    for each in items_of(items):
        budget.take()
        start = closure(change)(start, each)
    return start


def _find_index_of(budget: Budget, items: list[Any], test: Any) -> int:
    return next((at for at, each in enumerate(items) if _test(budget, test, each)), -1)


def _collect_entries(budget: Budget, items: Any, change: Any) -> JavaMap:
    entries: list[tuple[Any, Any]] = []
    for each in items_of(items):
        made = _run(budget, change, each)
        budget.look(made)
        if isinstance(made, JavaMap):
            entries += made.items()
        elif isinstance(made, list) and len(made) == 2:
            entries.append((made[0], made[1]))
        else:
            raise EvaluationError(f"An entry of a map is made of a {class_of(made)}, not of a list of two")
    return JavaMap(entries)


def _group_by(budget: Budget, items: Any, change: Any) -> JavaMap:
    found: dict[Any, tuple[Any, list[Any]]] = {}
    for each in items_of(items):
        key = _run(budget, change, each)
        budget.look(key)
        found.setdefault(identity(key), (key, []))[1].append(each)
    return JavaMap(list(found.values()))


WITH_CLOSURES: Final[dict[str, Method]] = {
    "any": _any,
    "every": _every,
    "find": _find,
    "findAll": _find_all,
    "collect": _collect,
    "each": _each,
    "count": _count,
    "inject": _inject,
    "collectEntries": _collect_entries,
    "groupBy": _group_by,
}
"""Methods of lists, sets and maps that use the budget."""

OF_LISTS: Final[dict[str, Method]] = {
    **WITH_CLOSURES,
    "contains": _contains,
    "containsAll": _contains_all,
    "indexOf": _found_at,
    "plus": _plus,
    "minus": _minus,
    "disjoint": lambda budget, items, other: not _common(budget, items, other),
    "intersect": _common,
    "eachWithIndex": _each_with_index,
    "findIndexOf": _find_index_of,
    "sum": _sum,
    "max": _extreme(1),
    "min": _extreme(-1),
    "sort": _in_place(_sort),
    "toSorted": _sort,
    "unique": _unique_of,
    "toUnique": _unique,
}

OF_MAPS: Final[dict[str, Method]] = {
    "equals": equal,
    "size": len,
    "isEmpty": lambda entries: not len(entries),
    "get": lambda entries, key, default=None: entries.get(key) if key in entries else default,
    "getAt": at_index,
    "getOrDefault": lambda entries, key, default: entries.get(key) if key in entries else default,
    "containsKey": lambda entries, key: key in entries,
    "keySet": lambda entries: JavaSet(entries.keys()),
    "values": JavaMap.values,
    "entrySet": lambda entries: JavaSet([MapEntry(key, value) for key, value in entries.items()]),
}

OF_MAPS_WITH_BUDGET: Final[dict[str, Method]] = {
    **WITH_CLOSURES,
    "containsValue": lambda budget, entries, wanted: _found_at(budget, entries.values(), wanted) >= 0,
    "plus": _plus,
}

DEEP: Final = frozenset(("equals", "toString", "hashCode", "join", "flatten", "toSet"))
"""Methods that go through members of members."""
