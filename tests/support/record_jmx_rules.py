"""Records the series that the real JMX exporter makes of the cases in ``jmx_rule_cases.py``.

``python -m tests.support.record_jmx_rules jmx_prometheus_javaagent-1.0.1.jar`` writes the answers beside the tests. It needs a JDK.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.support.jmx_rule_cases import BEANS, CASES
from tests.support.project import ROOT
from workers.telemetry.mbean import Attribute

ANSWERS: Final = ROOT / "tests/unit/workers/telemetry/rules/jmx_rules_recorded.json"
_OURS: Final = ("kafka_", "debezium_", "#")
_META: Final = ("jmx_", "jvm_", "java_", "# TYPE jmx_", "# TYPE java_", "JMImplementation", "com_sun", "jdk_")


def _typed(value: Attribute) -> tuple[str, str]:
    match value:
        case None:
            return "null", ""
        case bool():
            return "boolean", str(value).lower()
        case int():
            return "long", str(value)
        case float():
            return "double", repr(value).replace("nan", "NaN")
        case str():
            return "string", value
        case dict():
            return "map", ",".join(f"{key}={part}" for key, part in value.items())
    assert isinstance(value, list)
    return "list", ",".join(map(str, value))


def _lines(text: str) -> list[str]:
    """The series and their types, without help texts and without what the JVM and the exporter tell about themselves."""
    kept = [line for line in text.splitlines() if not line.startswith("# HELP")]
    return sorted(
        line
        for line in kept
        if not line.startswith(_META) and not line.startswith(("# TYPE java", "# TYPE JMI", "# TYPE com_", "# TYPE jdk_"))
    )


def main(jar: str) -> None:
    """Record all cases."""
    with tempfile.TemporaryDirectory() as folder:
        beans = Path(folder, "beans.tsv")
        rows = [(bean.name, name, *_typed(value)) for bean in BEANS for name, value in bean.attributes.items()]
        beans.write_text("".join("\t".join(row) + "\n" for row in rows))
        cases = Path(folder, "cases")
        cases.mkdir()
        names = list(CASES)
        for at, name in enumerate(names):
            (cases / f"{at}.yml").write_text(CASES[name])
        program = ROOT / "tests/support/JmxRuleRecorder.java"
        subprocess.run(["java", "-XX:TieredStopAtLevel=1", "-cp", jar, str(program), str(beans), str(cases)], check=True)
        found = {name: _lines((cases / f"{at}.txt").read_text()) for at, name in enumerate(names)}
    ANSWERS.write_text(json.dumps({"exporter": Path(jar).name, "cases": found}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
