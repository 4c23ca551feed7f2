from __future__ import annotations

from tests.support.project import ROOT
from workers.telemetry.beans.documentation import page


def test_the_page_is_what_the_tables_say() -> None:
    assert (ROOT / "docs/monitoring.md").read_text() == page(), "run python -m workers.telemetry.beans.documentation > docs/monitoring.md"
