"""What a converter of columns is: the interface of the classes that ``converters`` names.

A converter chooses columns and gives each a schema and a function for its values. Debezium's ``CustomConverter`` is the model, with
one difference: a value comes as the text that PostgreSQL prints, the same in snapshot and stream, where a Java converter is
given objects of the driver's classes, which differ between the two. What is said here of NULL, defaults, keys and order is as recorded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, final

from connector.schema import Schema


@final
class _Placeholder:
    """The one value that stands for ``unavailable.value.placeholder``."""

    def __repr__(self) -> str:
        return "PLACEHOLDER"


PLACEHOLDER: Final = _Placeholder()


@dataclass(frozen=True, slots=True)
class ConvertibleColumn:
    """A column as a converter sees it.

    ``table`` is ``schema.table``. ``type_name`` is PostgreSQL's own name of the type (``int4``, ``_text`` for text[], a domain's name),
    ``base_type`` the one below all domains. ``length`` and ``scale`` are those of the declaration as the driver tells them, None where
    it tells none. ``default`` is the text of the column's default where that can be told, else None.
    """

    table: str
    name: str
    type_name: str
    base_type: str
    length: int | None
    scale: int | None
    optional: bool
    default: str | None


@dataclass(frozen=True, slots=True)
class Registration:
    """How a column's values look.

    ``schema`` becomes optional for a column that may be NULL, and gets the column's default, converted.
    ``convert`` makes the value to send (see :class:`connector.schema.Schema`) of the text of a value, and of None for a NULL.
    Whatever it raises makes the value one that cannot be converted (``event.converting.failure.handling.mode``), and so does a value
    that does not fit the schema. None stands for null: the default, where there is one; without one it fails the event when the schema is
    required. ``unavailable`` is sent for a large value that an UPDATE left alone and PostgreSQL did not send; unless it is given,
    that is the placeholder for strings and null for all others.
    """

    schema: Schema
    convert: Callable[[str | None], object]
    unavailable: object = PLACEHOLDER


class ColumnConverter(ABC):
    """The base of all converters. One is made for each name in ``converters``, in each process that reads the database."""

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 - most converters have nothing to configure
        """Take the properties ``<name>.*``, without that prefix.

        Called once, first. Whatever it raises fails the task and is
        quoted in the error, so it must hold no secret.
        """

    @abstractmethod
    def converter_for(self, column: ConvertibleColumn) -> Registration | None:
        """Give the column a schema and a function, or None to leave it alone.

        Called for each captured column, again whenever a table is looked at anew, and for keys and headers apart; the answer must be
        the same each time. Of several converters that want a column the first in ``converters`` gets it. Whatever it raises
        fails the task.
        """
