"""The command names the package that it lacks, and how to install all of them."""

from __future__ import annotations

import re
from importlib.machinery import ModuleSpec

import pytest

from workers.bulk import __main__ as program
from workers.spark.failure import NO_JAVA


@pytest.mark.parametrize(
    ("absent", "named"),
    [(("pyspark", "pyarrow"), "PySpark"), (("pyarrow",), "PyArrow"), (("pyroaring",), "pyroaring"), (("xxhash",), "xxhash")],
)
def test_a_package_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], absent: tuple[str, ...], named: str
) -> None:
    monkeypatch.setattr(program, "find_spec", lambda name: None if name in absent else ModuleSpec(name, None))
    assert program.main(["--help"]) == NO_JAVA
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(rf"error: {named} is not installed\. Install it: .* install .*\n", said.err)
