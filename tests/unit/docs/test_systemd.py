"""The unit is one that systemd accepts, and it starts the command of the package."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.support.project import DOCS, ROOT

UNIT: Final = DOCS / "systemd" / "understudy.service"
PROGRAM: Final = "/opt/understudy/bin/understudy"


def service() -> dict[str, list[str]]:
    """The settings of the section Service; some occur more than once."""
    section = UNIT.read_text(encoding="utf-8").partition("[Service]\n")[2].partition("[Install]")[0]
    found: dict[str, list[str]] = {}
    for line in section.splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def test_it_starts_the_command_with_its_copies_of_the_files() -> None:
    credentials = dict(each.split(":") for each in service()["LoadCredential"])
    assert credentials == {"worker.properties": "/etc/understudy/worker.properties", "secrets": "/etc/understudy/secrets.properties"}
    assert service()["ExecStart"] == [f"{PROGRAM} worker ${{CREDENTIALS_DIRECTORY}}/worker.properties"]
    assert 'understudy = "workers.__main__:main"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    page = (DOCS / "operations.md").read_text(encoding="utf-8")
    assert [path for path in credentials.values() if path not in page] == []
    assert f"/run/credentials/{UNIT.name}/secrets" in page


def test_it_restarts_after_a_failure_only() -> None:
    assert service()["Restart"] == ["on-failure"]
    assert int(service()["TimeoutStopSec"][0]) > 5


def test_every_setting_is_written_once_but_lists() -> None:
    assert [name for name, values in service().items() if len(values) > 1] == ["LoadCredential", "SystemCallFilter"]
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.read_string(UNIT.read_text(encoding="utf-8"))
    assert parser.sections() == ["Unit", "Service", "Install"]


def test_systemd_accepts_it_and_calls_it_hardened(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        # Only the machine of the test lacks it; what the unit says has been tested above.
        return
    # It looks for the program too.
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text(encoding="utf-8").replace(PROGRAM, "/bin/true"))
    verified = subprocess.run([analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")
    # 0 to 10, where 10 is a service without any limit; the second sets the limit times ten.
    judged = subprocess.run(
        [analyze, "security", "--offline=true", "--threshold=20", str(unit)], capture_output=True, text=True, check=False
    )
    assert judged.returncode == 0, judged.stdout
