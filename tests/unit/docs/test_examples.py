"""The files that newcomers start from say what the program understands."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from connector.config.connector_config import parse
from tests.support.project import ROOT
from workers.quickstart.demo import shop
from workers.quickstart.demo.stack import STANDARD_WORKER
from workers.settings.image_variables import from_environment
from workers.settings.worker_settings import WorkerSettings

DATABASE = {"HOST": "127.0.0.1", "PORT": "5432", "USER": "shop", "PASSWORD": "shop", "NAME": "shop"}


@pytest.fixture(scope="module")
def compose() -> Any:
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]


def test_the_example_connector_has_no_unknown_property() -> None:
    example = json.loads((ROOT / "docs/examples/shop.json").read_text(encoding="utf-8"))
    resolved = {
        name: re.sub(r"\$\{env:SHOP_DB_(\w+)\}", lambda match: DATABASE[match[1]], value) for name, value in example["config"].items()
    }
    config, notices = parse({**resolved, "name": example["name"]})
    assert (config.topic_prefix, config.database_port, notices) == (shop.PREFIX, 5432, [])


def test_the_containers_environment_is_a_workers(compose: Any) -> None:
    properties = from_environment(compose["understudy"]["environment"])
    settings = WorkerSettings.from_properties(properties)
    assert (settings.bootstrap_servers, settings.group_id, settings.unknown) == ("kafka:29092", "understudy", ())
    assert settings.secrets.providers["env"].allowed_names == "SHOP_.*"
    assert settings.config_topic.name == "understudy-configs"


def test_the_container_gives_what_the_example_asks_for(compose: Any) -> None:
    asked = set(re.findall(r"\$\{env:(\w+)\}", (ROOT / "docs/examples/shop.json").read_text(encoding="utf-8")))
    assert asked
    assert asked <= compose["understudy"]["environment"].keys()


def test_the_demos_worker_has_no_unknown_property() -> None:
    settings = WorkerSettings.from_properties({"bootstrap.servers": "127.0.0.1:9092", **STANDARD_WORKER})
    assert (settings.unknown, settings.ignored) == ((), ())


def test_the_snapshot_count_is_that_of_the_first_rows() -> None:
    statements = (ROOT / shop.TABLES).read_text(encoding="utf-8").split(";")
    rows = [statement.partition("VALUES")[2].count("(") for statement in statements if "INSERT INTO" in statement]
    assert sum(rows) == shop.FIRST_ROWS
