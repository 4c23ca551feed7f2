"""Classes that users write in Python and name in a connector's configuration.

The only place of the connector that imports what a configuration names. A name is an entry point of the group
``understudy.<kind>``, or ``package.module:Class``. Nothing is imported that the worker does not allow
(:mod:`connector.plugins.allowed`), and nothing that is imported can end more than the task (:mod:`connector.plugins.user_code`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeVar

from connector.errors import CdcError, ErrorKind
from connector.plugins.allowed import PROPERTY, AllowedPlugins
from connector.plugins.user_code import described, let_operator_through

T = TypeVar("T")

_HOW: Final = "`understudy docs extending` tells how such a class is written and installed"


def load(kind: str, name: str, base: type[T], *, setting: str, allowed: AllowedPlugins) -> T:
    """Find the class called ``name`` and make one of it, without arguments.

    ``kind`` is what the class is for, in the plural (``converters``); ``base`` is what it must derive from; ``setting`` is the property
    that names it, for messages. Raises CdcError(CONFIG_INVALID) when ``allowed`` does not hold the class, when there is no such class,
    when its module cannot be imported, when it is of another kind, and when it cannot be made. A name that is not allowed is not
    repeated in the message: it may be a secret behind a reference.
    """
    found = _by_path(name, setting, allowed) if ":" in name else _by_entry_point(f"understudy.{kind}", name, setting, allowed)
    if not isinstance(found, type) or not issubclass(found, base):
        raise _refused(
            f"{name}, which property {setting} names, does not derive from {base.__module__}.{base.__qualname__}",
            f"Derive it from that class; {_HOW}",
        )
    try:
        return found()
    except BaseException as error:
        let_operator_through(error)
        raise _refused(
            f"No {found.__qualname__} can be made, which property {setting} names: its constructor failed",
            f"It must need no arguments, and have all methods; {_HOW}",
            error,
        ) from error


def configure(take: Callable[[Mapping[str, str]], None], properties: Mapping[str, str], what: str) -> None:
    """Give a user's object its properties. Raises CdcError(CONFIG_INVALID) that names ``what`` for whatever it raises.

    The text of its exception may hold a secret of ``properties``, so that only its type is given.
    """
    try:
        take(properties)
    except BaseException as error:  # noqa: BLE001 (a user's class may raise anything)
        let_operator_through(error)
        message = f"{what} does not accept the connector's configuration: its configure raised {type(error).__name__}"
        raise CdcError(ErrorKind.CONFIG_INVALID, message, "Correct the properties that it reads, or its class") from None


def _by_path(name: str, setting: str, allowed: AllowedPlugins) -> object:
    module, _, attribute = name.partition(":")
    if not allowed.module(module):
        raise _refused(
            f"The module of the class that property {setting} names is not allowed: "
            f"the worker's property {PROPERTY} lists neither it nor a package above it",
            f"If you trust the package, add its name to {PROPERTY} in the worker's file and start the worker again; {_HOW}",
        )
    try:
        imported: object = importlib.import_module(module)
    except BaseException as error:
        let_operator_through(error)
        raise _refused(
            f"Module {module}, which property {setting} names, cannot be imported",
            f"Install its package beside this program, or put its folder on PYTHONPATH, and start the worker again; {_HOW}",
            error,
        ) from error
    try:
        return _class_in(imported, attribute, allowed)
    except BaseException as error:
        let_operator_through(error)
        raise _refused(
            f"Module {module} has no class {attribute} of its own, which property {setting} names",
            f"Name a class without a leading underscore whose package {PROPERTY} in the worker's file lists; {_HOW}",
            None if isinstance(error, LookupError) else error,
        ) from error


def _class_in(imported: object, attribute: str, allowed: AllowedPlugins) -> type:
    """The class, or the class within a class, that was defined where the worker allows it. Raises LookupError.

    What a module has imported from elsewhere (``package.module:subprocess.Popen``) is not its own.
    """
    part, dot, rest = attribute.partition(".")
    if not part.isidentifier() or part.startswith("_"):
        raise LookupError(part)
    found = getattr(imported, part, None)
    if not isinstance(found, type) or not isinstance(found.__module__, str) or not allowed.module(found.__module__):
        raise LookupError(part)
    return _class_in(found, rest, allowed) if dot else found


def _by_entry_point(group: str, name: str, setting: str, allowed: AllowedPlugins) -> object:
    installed = entry_points(group=group)
    named = [point for point in installed if point.name == name]
    if not named:
        known = ", ".join(sorted({point.name for point in installed})) or "none"
        raise _refused(
            f"There is no entry point in the group {group} of the name that property {setting} gives; installed: {known}",
            f"Install the package that has it, or name the class as package.module:Class; {_HOW}",
        )
    point = allowed.chosen(named)
    if point is None:
        raise _refused(
            f"Entry point {name}{_owner(named[0])}, which property {setting} names, is not allowed: "
            f"the worker's property {PROPERTY} lists neither it nor its distribution",
            f"If you trust the distribution, add its name to {PROPERTY} in the worker's file and start the worker again; {_HOW}",
        )
    try:
        found: object = point.load()
    except BaseException as error:
        let_operator_through(error)
        raise _refused(
            f"Entry point {name} of the group {group}, which property {setting} names, cannot be loaded",
            f"Correct or reinstall its package; {_HOW}",
            error,
        ) from error
    return found


def _owner(point: EntryPoint) -> str:
    return "" if point.dist is None else f" of the distribution {point.dist.name}"


def _refused(message: str, remedy: str, error: BaseException | None = None) -> CdcError:
    return CdcError(ErrorKind.CONFIG_INVALID, message, remedy, "" if error is None else described(error))
