"""The interface of the classes that ``converters`` names: a converter chooses columns and converts their values.

A converter gives each of its columns a schema and a function for its values. Debezium's ``RecordConverter`` is the model. There is one
difference: a value is the text that PostgreSQL prints, which is the same in snapshots and in the stream. A Java converter gets objects of
the JDBC driver's classes, which differ between the two. The rules here about NULL, defaults, keys and order are recorded from Debezium.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, final

from connector.record.schema import Schema


@final
class _Placeholder:
    """The type of :data:`PLACEHOLDER`, which stands for ``unavailable.value.placeholder``."""

    def __repr__(self) -> str:
        return "PLACEHOLDER"


PLACEHOLDER: Final = _Placeholder()


@dataclass(frozen=True, slots=True)
class ConvertibleColumn:
    """A column, as a converter sees it.

    ``table`` is ``schema.table``. ``type_name`` is PostgreSQL's name of the type (``int4``, ``_text`` for text[], the name of a domain);
    for an integer whose default is taken from a sequence it is ``smallserial``, ``serial`` or ``bigserial`` if Debezium 3.7.0 is emulated.
    ``base_type`` is the type below all domains, never a serial one. ``length`` and ``scale`` are those that the JDBC driver reports for the
    declared type, None where it reports none. ``default`` is the text of the column's default, None if there is none or it is not known.
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
    """The schema of a column and the function that converts its values.

    ``schema`` becomes optional for a column that may be NULL, and gets the column's converted default.

    ``convert`` takes the text of a value, or None for a NULL, and returns the value to send (see :class:`connector.record.schema.Schema`).
    If it raises, or returns a value that does not fit the schema, the value counts as one that cannot be converted
    (``event.converting.failure.handling.mode``). If it returns None, the event shows the schema's default, else null; if the schema is
    required and has no default, the event fails.

    ``unavailable`` is sent for a large value that an UPDATE did not change and PostgreSQL did not send (TOAST). By default it is the
    placeholder for strings and null for all other types.
    """

    schema: Schema
    convert: Callable[[str | None], object]
    unavailable: object = PLACEHOLDER


class ColumnConverter(ABC):
    """The base class of all converters.

    Each process that reads the database makes one object for each name in ``converters``.
    """

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 - most converters have nothing to configure
        """Take the properties ``<name>.*``, without that prefix.

        Called once, before any other method. An exception fails the task, and the error quotes it: its text must contain no secret.
        """

    @abstractmethod
    def converter_for(self, column: ConvertibleColumn) -> Registration | None:
        """Return the column's schema and function, or None to leave the column alone.

        Called for each captured column, separately for values, keys and headers, and again whenever a table is read again. The answer must
        be the same each time. If several converters want a column, the first one in ``converters`` gets it. An exception fails the task.
        """
