"""One batch as one MERGE statement. Pure: text only."""

from __future__ import annotations

from collections.abc import Sequence

from workers.spark.sinks.incoming import Incoming
from workers.spark.tables.names import literal, quoted
from workers.spark.tables.table import DELETE, LSN, POSITION, UPSERT


def merge_statement(target: str, source: str, batch: Incoming, there: Sequence[str]) -> str:
    """MERGE of ``source`` (the name of a view of the batch's rows) into ``target``, which has the columns ``there``.

    Rows are matched by the key; nulls are equal to nulls. Literal bounds of a key column let a format skip the files that hold
    none of the rows. Rows that a truncate removes count as absent. Columns of the target that the table lacks become null.
    """
    clauses = [
        f"MERGE INTO {target} AS t USING {source} AS s ON {_condition(batch)}",
        f"WHEN MATCHED AND s.op = {literal(DELETE)} THEN DELETE",
    ]
    absent = "false" if batch.truncated is None else gone("t", batch)
    values = {
        column.name: f"CASE WHEN {_keeps(column.name)} THEN CASE WHEN NOT ({absent}) THEN t.{quoted(column.name)} END ELSE s.c{at} END"
        if column.name in batch.kept
        else f"s.c{at}"
        for at, column in enumerate(batch.table.columns)
    }
    values[LSN] = (
        f"CASE WHEN {_keeps(LSN)} THEN CASE WHEN NOT ({absent}) THEN t.{quoted(LSN)} END ELSE s.lsn END" if LSN in batch.kept else "s.lsn"
    )
    if batch.table.key:
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {_assignments(values)}")
    elif batch.truncated is not None:
        # An existing row of a table without a key is the same row. Only a row that the truncate removes is written again.
        clauses.append(f"WHEN MATCHED AND {absent} THEN UPDATE SET {_assignments(values)}")
    names, items = _inserted(batch, there)
    clauses.append(f"WHEN NOT MATCHED AND s.op = {literal(UPSERT)} THEN INSERT ({names}) VALUES ({items})")
    if batch.truncated is not None:
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND {absent} THEN DELETE")
    return "\n".join(clauses)


def insert_statement(target: str, source: str, batch: Incoming, there: Sequence[str]) -> str:
    """INSERT into a ``target`` without rows, which is much faster than a MERGE."""
    names, items = _inserted(batch, there)
    return f"INSERT INTO {target} ({names}) SELECT {items} FROM {source} AS s WHERE s.op = {literal(UPSERT)}"


def _inserted(batch: Incoming, there: Sequence[str]) -> tuple[str, str]:
    """The columns of a new row, and its values."""
    inserted = {
        column.name: f"CASE WHEN NOT ({_keeps(column.name)}) THEN s.c{at} END" if column.name in batch.kept else f"s.c{at}"
        for at, column in enumerate(batch.table.columns)
    }
    inserted |= {LSN: "s.lsn"} if batch.table.key else {LSN: "s.lsn", POSITION: "s.k0"}
    inserted |= {name: "NULL" for name in there if name not in inserted}
    return ", ".join(quoted(name) for name in inserted), ", ".join(inserted.values())


def gone(alias: str, batch: Incoming) -> str:
    """The condition for a row of the mirror that the batch's truncate removes."""
    lsn, position = (f"{alias}.{quoted(name)}" if alias else quoted(name) for name in (LSN, POSITION))
    ranges = [f"({position} >= {literal(low)} AND {position} < {literal(high)})" for low, high in batch.replaced]
    # The condition is never null, because the statement negates it.
    more = [f"coalesce({' OR '.join(ranges)}, false)"] if ranges else []
    return f"({' OR '.join([f'{lsn} IS NULL', f'{lsn} < {batch.truncated}L', *more])})"


def _condition(batch: Incoming) -> str:
    # Formats skip more files with plain equality than with null-safe equality.
    parts = [f"t.{quoted(name)} {'<=>' if name in batch.nullable else '='} s.k{at}" for at, name in enumerate(batch.keys)]
    within = between("t", batch.wide)
    return " AND ".join(parts if within is None else [*parts, within])


def between(alias: str, bounds: tuple[str, str, str] | None) -> str | None:
    """The condition for a row of the mirror whose key is between such bounds of a batch; None if these are unknown."""
    if bounds is None:
        return None
    name, low, high = bounds
    column = f"{alias}.{quoted(name)}" if alias else quoted(name)
    return f"{column} >= {low} AND {column} <= {high}"


def at_least(bounds: tuple[str, str, str]) -> str:
    """The condition for a row of the mirror whose key is not below those of a batch with these bounds."""
    name, low, _ = bounds
    return f"{quoted(name)} >= {low}"


def _keeps(name: str) -> str:
    return f"coalesce(array_contains(s.kept, {literal(name)}), false)"


def _assignments(values: dict[str, str]) -> str:
    return ", ".join(f"t.{quoted(name)} = {value}" for name, value in values.items())
