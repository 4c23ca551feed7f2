"""The result of the maintenance of a table, as a line and as a JSON document. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """The files that the table's present version consists of, and their bytes."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Report:
    """``skipped`` says why the table was not maintained; None if it was. ``failed``: for another reason than concurrent commits."""

    table: str
    before: Size | None = None
    after: Size | None = None
    seconds: float = 0.0
    skipped: str | None = None
    failed: bool = False

    def text(self) -> str:
        """One line."""
        if self.before is None or self.after is None or self.skipped is not None:
            return f"{self.table}: maintenance skipped: {self.skipped}"
        return f"{self.table}: {_text(self.before)} before, {_text(self.after)} after, in {self.seconds:.1f} s"

    def document(self) -> dict[str, object]:
        """The same for ``--json``."""
        return asdict(self)


def _text(size: Size) -> str:
    return f"{size.files:,} files of {size.bytes:,} bytes"
