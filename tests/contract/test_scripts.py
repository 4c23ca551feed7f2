"""Shell scripts as operators write them, run by bash with curl and jq: deploy, list, watch, and restart what failed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.fix_clients import repair
from tests.support.connector import Connector

pytestmark = pytest.mark.pg_once

TOOLS: Final = ("bash", "curl", "jq", "xargs")
SECONDS: Final = 60

Shell = Callable[[str], str]


@pytest.fixture
def shell(target: Connector, tmp_path: Path) -> Shell:
    """Run a script with the worker's address in ``$C`` and the connector's name in ``$N``; what it prints."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not on PATH: {', '.join(missing)}")
    (tmp_path / "config.json").write_text(json.dumps(target.config()), encoding="utf-8")
    (tmp_path / "connector.json").write_text(json.dumps({"name": target.name, "config": target.config()}), encoding="utf-8")

    def run(script: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "C": target.worker.url, "N": target.name},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    return run


RUNNING: Final = 'until [ "$(curl -s $C/connectors/$N/status | jq -r ".tasks[0].state")" = RUNNING ]; do :; done'


def test_wait_for_the_worker_and_register(shell: Shell) -> None:
    for path in ("", "/", "/connectors", "/connectors/"):
        assert shell(f'curl -s -o /dev/null -w "%{{http_code}}" $C{path}') == "200"
    register = 'curl -s -o /dev/null -w "%{http_code}" -X POST -H "Content-Type: application/json" -d @connector.json $C/connectors/'
    assert shell(register) == "201"
    assert shell(register) == "409"
    shell(RUNNING)
    head = shell(
        'curl -i -s -X POST -H "Accept:application/json" -H "Content-Type:application/json" $C/connectors/ -d @connector.json | head -1'
    )
    assert head.split()[1] == "409"
    assert shell('curl -s -o /dev/null -w "%{http_code}" -X DELETE $C/connectors/$N') == "204"


def test_deploy_again_and_again(shell: Shell) -> None:
    put = 'curl -s -w "%{http_code}" -o answer.json -X PUT -H "Content-Type: application/json" --data @config.json $C/connectors/$N/config'
    assert shell(put) == "201"
    assert shell(put) == "200"
    assert shell("jq -r .name answer.json; jq -r .type answer.json").split()[1:] == ["source"]
    # Fail on an error's code.
    assert shell("curl -sf $C/connectors/none > /dev/null || echo missing") == "missing"


def test_the_list_of_states(shell: Shell) -> None:
    shell('curl -sf -X PUT -H "Content-Type: application/json" -d @config.json $C/connectors/$N/config > /dev/null')
    shell(RUNNING)
    # All in one call, a line for each connector.
    lines = shell(
        'curl -s "$C/connectors?expand=info&expand=status" | jq -r --arg n "$N" \'to_entries[] | select(.key == $n) | .value as $v'
        ' | [$v.info.type, .key, $v.status.connector.state, $v.status.tasks[].state, $v.info.config."connector.class"] | join("|")\''
    )
    assert lines.split("|")[0::2] == ["source", "RUNNING", "io.debezium.connector.postgresql.PostgresConnector"]
    # One call for each name.
    line = shell(
        "curl -s $C/connectors | jq -r '.[]' | grep \"^$N$\" | xargs -I{} curl -s $C/connectors/{}/status"
        " | jq -r '[.name, .connector.state, .tasks[].state] | join(\" \")'"
    )
    assert line.split()[1:] == ["RUNNING", "RUNNING"]
    assert shell("curl -s $C/connectors/$N/tasks | jq -r '.[].id.task'") == "0"
    assert shell("curl -s $C/connectors/$N/topics | jq -r '.[].topics | type'") == "array"
    assert shell("curl -s $C/connector-plugins | jq -r '.[].class'") == "io.debezium.connector.postgresql.PostgresConnector"


def test_the_cron_job_that_restarts_failed_tasks(shell: Shell, failing: Connector) -> None:
    repair(failing)
    shell(
        'curl -s "$C/connectors?expand=status" | jq -r --arg n "$N" \'.[].status | select(.name == $n) | .name as $c | .tasks[]'
        ' | select(.state == "FAILED") | "/connectors/\\($c)/tasks/\\(.id | tostring)/restart"\''
        " | xargs -I{} curl -sf -X POST $C{}"
    )
    shell(RUNNING)
    failing.await_phase("streaming")
    answer = shell('curl -s -X POST "$C/connectors/$N/restart?includeTasks=true&onlyFailed=false" | jq -r ".tasks[].state"')
    assert answer == "RESTARTING"


def test_a_check_before_the_deployment(shell: Shell) -> None:
    validate = (
        'jq \'. + {name: "x"%s}\' config.json | curl -s -X PUT -H "Content-Type: application/json" --data @-'
        " $C/connector-plugins/PostgresConnector/config/validate | jq -r '.error_count, (.configs[].value | select(.errors != []) | .name)'"
    )
    assert shell(validate % "").split() == ["0"]
    assert shell(validate % ', "snapshot.mode": "sometimes"').split() == ["1", "snapshot.mode"]


def test_loggers_for_an_hour(shell: Shell) -> None:
    put = "curl -s -X PUT -H 'Content-Type:application/json' -d '{\"level\": \"%s\"}' $C/admin/loggers/contract.script | jq -c ."
    assert shell(put % "DEBUG") == '["contract.script"]'
    assert shell("curl -s $C/admin/loggers | jq -r '.[\"contract.script\"].level'") == "DEBUG"
    assert shell(put % "INFO") == '["contract.script"]'
