"""The schedule of tests on servers names the files that there are."""

from __future__ import annotations

from tests.fix_schedule import FIRST, REGISTRY, _scope
from tests.support.project import ROOT, TESTS


def test_scheduled_files_exist() -> None:
    assert [path for path in (*FIRST, *REGISTRY) if not (ROOT / path).is_file()] == []


def test_all_files_that_start_a_registry_share_a_process() -> None:
    servers = (path for path in TESTS.rglob("test_*.py") if "unit" not in path.relative_to(TESTS).parts)
    using = {path.relative_to(ROOT).as_posix() for path in servers if "EmbeddedRegistry" in path.read_text(encoding="utf-8")}
    assert using == REGISTRY
    assert len({_scope(f"{path}::test_any") for path in REGISTRY}) == 1
