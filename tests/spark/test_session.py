"""The choice of Java, the error without one, and the jar cache. No Spark is started."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from pyspark.errors import PySparkRuntimeError

from workers.spark.commands import main
from workers.spark.failure import FAULT, NO_JAVA, UNREADABLE, WRONG, JobError
from workers.spark.jars import GROUPS, Jar, jars_of
from workers.spark.jobs.mirror_config import parse_config
from workers.spark.jobs.stream import session_of
from workers.spark.session import HADOOP_FOLDERS, cores, find_java, is_local, open_session, session_settings, sized

GOOD = "java.base@17.0.15\njdk.incubator.vector@17.0.15"


def java(home: Path, modules: str) -> Path:
    """A program that lists ``modules`` as ``java --list-modules`` would."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{modules}\nEND\n")
    program.chmod(0o755)
    return program


def test_java_home_comes_first(tmp_path: Path) -> None:
    wanted, on_path = java(tmp_path / "home", GOOD), java(tmp_path / "path", GOOD)
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}, ()) == wanted


def test_java_without_the_module_is_skipped(tmp_path: Path) -> None:
    java(tmp_path / "bare", "java.base@25\njava.logging@25")
    installed = java(tmp_path / "jvm" / "openjdk", GOOD)
    assert find_java({"JAVA_HOME": str(tmp_path / "bare"), "PATH": ""}, [tmp_path / "jvm"]) == installed


@pytest.mark.parametrize(
    ("modules", "fault"),
    [
        ("java.base@21\njava.logging@21", "has no jdk.incubator.vector"),
        ("java.base@23\njdk.incubator.vector@23", "is Java 23, too new for Spark 4.1"),
        ("java.base@25.0.3\njdk.incubator.vector@25.0.3", "is Java 25, too new for Spark 4.1"),
        ("java.base@11.0.2\njdk.incubator.vector@11", "is Java 11"),
        ("Unrecognized option: --list-modules", "is older than Java 9"),
    ],
)
def test_refusal_names_the_fault_and_the_package(tmp_path: Path, modules: str, fault: str) -> None:
    program = java(tmp_path / "home", modules)
    with pytest.raises(JobError) as refusal:
        find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": ""}, ())
    assert refusal.value.code == NO_JAVA
    assert f"{program} {fault}" in str(refusal.value)
    assert "openjdk-17-jre-headless" in str(refusal.value)


def test_command_ends_with_3_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def none() -> Path:
        return find_java({"PATH": str(tmp_path)}, ())

    monkeypatch.setattr("workers.spark.jobs.stream.find_java", none)
    config = tmp_path / "mirror.toml"
    config.write_text(f'name = "m"\nbootstrap = "127.0.0.1:1"\nprefix = "p"\ncheckpoint = "{tmp_path}/c"\n[sink]\npath = "{tmp_path}/d"\n')
    assert main(["mirror", "--config", str(config)]) == 3
    assert "Install one" in capsys.readouterr().err


def test_a_fault_is_not_reported_as_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("nobody thought of it")

    monkeypatch.setattr("workers.spark.commands.run_mirror", fails)
    config = tmp_path / "mirror.toml"
    config.write_text(f'name = "m"\nbootstrap = "127.0.0.1:1"\nprefix = "p"\ncheckpoint = "{tmp_path}/c"\n[sink]\npath = "{tmp_path}/d"\n')
    assert main(["mirror", "--config", str(config)]) == FAULT
    reported = capsys.readouterr().err
    assert "KeyError\n  at " in reported
    assert "in fails\n" in reported
    assert "nobody thought of it" not in reported


def pinned(monkeypatch: pytest.MonkeyPatch) -> tuple[Jar, ...]:
    """A separate group of two jars, which are empty files."""
    jars = tuple(Jar("org.example", name, "1", hashlib.sha256(b"").hexdigest()) for name in ("one", "two"))
    monkeypatch.setattr("workers.spark.jars.GROUPS", {"both": jars, "one": jars[:1]})
    return jars


def ivy(path: Path, script: str) -> Path:
    """A program instead of Java. ``$jars`` is the folder that Ivy should fill."""
    find = 'for word; do case "$last" in -retrieve) jars=$(dirname "$word");; esac; last=$word; done; mkdir -p "$jars"'
    path.write_text(f"#!/bin/sh\n{find}\n{script}\n")
    path.chmod(0o755)
    return path


def test_cached_jars_are_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jars").mkdir()
    for jar in pinned(monkeypatch):
        (tmp_path / "jars" / jar.file_name).touch()
    paths = jars_of(Path("/does/not/exist"), tmp_path, ("both",))
    assert [path.name for path in paths] == ["org.example_one-1.jar", "org.example_two-1.jar"]


def test_only_missing_jars_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars = pinned(monkeypatch)
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / jars[0].file_name).touch()
    program = ivy(tmp_path / "java", f'cp "$(dirname "$jars")/ivy.xml" {tmp_path}/asked; : > "$jars/{jars[1].file_name}"')
    assert all(path.is_file() for path in jars_of(program, tmp_path, ("both",)))
    asked = (tmp_path / "asked").read_text()
    assert 'name="two"' in asked
    assert 'name="one"' not in asked
    assert sorted(path.name for path in tmp_path.iterdir()) == ["asked", "jars", "java"]


def test_jar_of_another_sum_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = pinned(monkeypatch)
    program = ivy(tmp_path / "java", f'echo wrong > "$jars/{one.file_name}"; : > "$jars/{two.file_name}"')
    with pytest.raises(JobError, match=r"deleted: org.example_one-1.jar had the SHA-256 \w{64} instead of e3b0c442") as refusal:
        jars_of(program, tmp_path, ("both",))
    assert refusal.value.code == UNREADABLE
    assert "two-1.jar" not in str(refusal.value)
    assert not (tmp_path / "jars" / one.file_name).exists()
    assert (tmp_path / "jars" / two.file_name).exists()


def test_jars_that_cannot_be_downloaded_end_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned(monkeypatch)
    program = ivy(tmp_path / "java", "echo 'unresolved dependency'\nexit 1")
    with pytest.raises(JobError, match=r"unresolved dependency.*UNDERSTUDY_IVY_SETTINGS") as refusal:
        jars_of(program, tmp_path, ("one",))
    assert refusal.value.code == UNREADABLE


def test_ivy_settings_name_a_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars = pinned(monkeypatch)
    program = ivy(tmp_path / "java", f'echo "$@" > {tmp_path}/said; : > "$jars/{jars[0].file_name}"')
    monkeypatch.setenv("UNDERSTUDY_IVY_SETTINGS", "/etc/ivy.xml")
    jars_of(program, tmp_path / "cache", ("one",))
    assert "-settings /etc/ivy.xml " in (tmp_path / "said").read_text()


def test_every_pinned_sum_is_one() -> None:
    assert {len(bytes.fromhex(jar.sha256)) for jars in GROUPS.values() for jar in jars} == {32}
    assert set(GROUPS) == {"kafka", "avro", "delta", "iceberg", "postgres", "s3"}


def test_formats_come_with_their_jars() -> None:
    assert "spark.sql.extensions" not in session_settings([], {})
    jars = [Path(jar.file_name) for group in ("delta", "iceberg") for jar in GROUPS[group]]
    made = session_settings(jars, {"spark.sql.extensions": "mine", "spark.driver.memory": "4g"})
    assert [name.rpartition(".")[2] for name in made["spark.sql.extensions"].split(",")] == [
        "DeltaSparkSessionExtension",
        "IcebergSparkSessionExtensions",
        "mine",
    ]
    assert made["spark.sql.catalog.spark_catalog"].endswith("DeltaCatalog")
    assert made["spark.driver.memory"] == "4g"
    assert made["spark.jars"].count(",") == len(jars) - 1
    assert session_settings([Path("/a.jar")], {"spark.jars": "/b.jar,s3a://c/d.jar"})["spark.jars"] == "/a.jar,/b.jar,s3a://c/d.jar"
    assert "spark.jars" not in session_settings([], {})
    options = session_settings([], {"spark.driver.extraJavaOptions": "-Dx=y"})["spark.driver.extraJavaOptions"]
    assert options.startswith("-Dlog4j2")
    assert options.endswith(" -Dx=y")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("", ["-XX:+UseSerialGC"]),
        ("-XX:-UseG1GC -Xlog:gc", ["-XX:+UseSerialGC"]),
        ("-Xss4m -XX:+UseG1GC", ["-XX:+UseG1GC"]),
        ("-XX:+UnlockExperimentalVMOptions -XX:+UseZGC", ["-XX:+UseZGC"]),
    ],
)
def test_java_has_one_garbage_collector(given: str, found: list[str]) -> None:
    options = session_settings([], {"spark.driver.extraJavaOptions": given})["spark.driver.extraJavaOptions"]
    assert [option for option in options.split() if option.startswith("-XX:+Use")] == found


def test_variables_in_statements_are_never_replaced() -> None:
    assert session_settings([], {"spark.sql.variable.substitute": "true"})["spark.sql.variable.substitute"] == "false"


@pytest.mark.parametrize(
    ("master", "local"), [("local", True), ("local[*]", True), ("local[2,4]", True), ("local-cluster[1,1,1024]", False), ("yarn", False)]
)
def test_driver_s_address_is_chosen_for_local_masters_alone(master: str, local: bool) -> None:
    assert is_local(master) is local


@pytest.mark.parametrize(("own", "collector"), [("-Dx=y", "-XX:+UseParallelGC"), ("-XX:+UseG1GC -Dx=y", "-XX:+UseG1GC")])
def test_java_s_options_of_a_configuration_follow_those_of_the_jobs(own: str, collector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, str] = {}

    def opened(*_: object, settings: dict[str, str], **__: object) -> SimpleNamespace:
        found.update(settings)
        return SimpleNamespace(sparkContext=SimpleNamespace(setLogLevel=lambda _: None))

    monkeypatch.setattr("workers.spark.jobs.stream.find_java", lambda: Path("/java"))
    monkeypatch.setattr("workers.spark.jobs.stream.jars_of", lambda *_: [])
    monkeypatch.setattr("workers.spark.jobs.stream.open_session", opened)
    least = {"name": "m", "bootstrap": "k", "checkpoint": "/c", "prefix": "p", "sink": {"path": "/t"}}
    session_of(parse_config({**least, "spark": {"spark.driver.extraJavaOptions": own, "spark.driver.memory": "9g"}}), "m", kafka=False)
    assert found["spark.driver.extraJavaOptions"].startswith("-XX:TieredStopAtLevel=4 ")
    assert found["spark.driver.extraJavaOptions"].endswith(" -Dx=y")
    options = session_settings([], found)["spark.driver.extraJavaOptions"].split()
    assert [option for option in options if option.startswith("-XX:+Use")] == [collector]
    assert found["spark.driver.memory"] == "9g"


@pytest.mark.parametrize(
    ("settings", "parallelism", "wanted"),
    [
        # local[*], local[2] and what has registered on a cluster.
        ({}, 2, 2),
        ({"spark.executor.cores": "4"}, 2, 2),
        # YARN and Kubernetes, before all executors are there.
        ({"spark.executor.instances": "5", "spark.executor.cores": "4"}, 2, 20),
        ({"spark.executor.instances": "5"}, 2, 5),
        ({"spark.executor.instances": "2", "spark.executor.cores": "1"}, 16, 16),
        # Standalone.
        ({"spark.cores.max": "12"}, 2, 12),
    ],
)
def test_cores_are_counted_wherever_spark_runs(settings: dict[str, str], parallelism: int, wanted: int) -> None:
    assert cores(settings, parallelism) == wanted


def test_yarn_without_its_configuration_ends_the_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused(*_: object) -> None:
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    monkeypatch.setattr("workers.spark.session.start_jvm", refused)
    monkeypatch.setenv("JAVA_HOME", "/java")
    monkeypatch.setenv("UNDERSTUDY_CACHE", str(tmp_path))
    for variable in HADOOP_FOLDERS:
        monkeypatch.delenv(variable, raising=False)
    program = java(tmp_path, GOOD)
    with pytest.raises(JobError, match=r"Set HADOOP_CONF_DIR or YARN_CONF_DIR to the folder of its yarn-site\.xml\.") as refusal:
        open_session("mirror m", program, master="yarn")
    assert refusal.value.code == WRONG
    with pytest.raises(PySparkRuntimeError):
        open_session("mirror m", program, master="spark://spark:7077")
    monkeypatch.setenv("YARN_CONF_DIR", "/etc/hadoop")
    with pytest.raises(PySparkRuntimeError):
        open_session("mirror m", program, master="yarn")


def test_partitions_follow_the_cores_unless_they_are_set() -> None:
    shuffle, log = "spark.sql.shuffle.partitions", "spark.databricks.delta.snapshotPartitions"
    assert sized(6, {}) == {shuffle: "6", log: "6"}
    assert sized(6, {shuffle: "500"}) == {log: "6"}
