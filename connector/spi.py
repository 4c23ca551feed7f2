"""Classes that users write in Python and name in a connector's configuration.

The only place of the connector that imports what a configuration names. A name is an entry point of the group
``understudy.<kind>``, or ``package.module:Class``; the package must be installed beside this program, or lie on PYTHONPATH.
"""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Final, TypeVar

from connector.errors import CdcError, ErrorKind

T = TypeVar("T")

_HOW: Final = "docs/extending.md tells how such a class is written and installed"


def load(kind: str, name: str, base: type[T], *, setting: str) -> T:
    """Find the class called ``name`` and make one of it, without arguments.

    ``kind`` is what the class is for, in the plural (``converters``); ``base`` is what it must derive from; ``setting`` is the property
    that names it, for messages. Raises CdcError(CONFIG_INVALID) when there is no such class, when its module cannot be
    imported, when it is of another kind, and when it cannot be made.
    """
    found = _by_path(name, setting) if ":" in name else _by_entry_point(f"understudy.{kind}", name, setting)
    if not isinstance(found, type) or not issubclass(found, base):
        raise _refused(
            f"{name}, which property {setting} names, is no class that derives from {base.__module__}.{base.__qualname__}",
            f"Derive it from that class; {_HOW}",
        )
    try:
        return found()
    except Exception as error:
        raise _refused(
            f"No {found.__qualname__} can be made, which property {setting} names: its constructor failed",
            f"It must need no arguments, and have all methods; {_HOW}",
            error,
        ) from error


def _by_path(name: str, setting: str) -> object:
    module, _, attribute = name.partition(":")
    try:
        found: object = importlib.import_module(module)
    except Exception as error:
        # A module may raise anything while it is imported.
        raise _refused(
            f"Module {module}, which property {setting} names, cannot be imported",
            f"Install its package beside this program, or put its folder on PYTHONPATH, and start the worker again; {_HOW}",
            error,
        ) from error
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise _refused(f"Module {module} has no class {attribute}, which property {setting} names", f"Correct the name; {_HOW}")
    return found


def _by_entry_point(group: str, name: str, setting: str) -> object:
    named = {point.name: point for point in entry_points(group=group)}
    if name not in named:
        known = ", ".join(sorted(named)) or "none"
        raise _refused(
            f"There is no entry point {name} in the group {group}, which property {setting} names; installed: {known}",
            f"Install the package that has it, or name the class as package.module:Class; {_HOW}",
        )
    try:
        found: object = named[name].load()
    except Exception as error:
        raise _refused(
            f"Entry point {name} of the group {group}, which property {setting} names, cannot be loaded",
            f"Mend or reinstall its package; {_HOW}",
            error,
        ) from error
    return found


def _refused(message: str, remedy: str, error: Exception | None = None) -> CdcError:
    detail = "" if error is None else f"{type(error).__name__}: {error}"
    return CdcError(ErrorKind.CONFIG_INVALID, message, remedy, detail)
