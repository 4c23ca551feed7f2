"""Resolution of references. What each must give was recorded from Kafka Connect 4.3.0 with its own three providers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from connector.errors import CdcError, ErrorKind
from connector.io.regular_file import LIMIT
from tests.support.each_case import each_case
from workers.settings.config_providers import Provider, Secrets
from workers.settings.worker_settings import SettingsError, WorkerSettings

PROPERTIES = r"""user=me
password=p\u0061ss
empty=
ref=${file:/x:user}
multi=one\ntwo
a\:b=colonkey
nul=x\u0000y
=emptykey
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A properties file ``f`` and a directory ``d``."""
    monkeypatch.setenv("HOME", "/root")
    monkeypatch.delenv("NO_SUCH_X", raising=False)
    (tmp_path / "f").write_text(f"{PROPERTIES}sp = a b  \n")
    (tmp_path / "f2").symlink_to("f")
    (tmp_path / "latin").write_bytes(b"a=caf\xe9\n")
    (tmp_path / "sp ace").write_text("a=1\n")
    (tmp_path / "badesc").write_text("bad=\\u00zz\n")
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbfa=bom\nb=2\n")
    directory = tmp_path / "d"
    (directory / "sub").mkdir(parents=True)
    (directory / "token").write_text("tok\n")
    (directory / "empty").write_text("")
    (directory / ".hidden").write_text("hid")
    (directory / "latin").write_bytes(b"caf\xe9")
    (directory / "link").symlink_to("token")
    (directory / "dangling").symlink_to("/nowhere")
    os.mkfifo(directory / "pipe")
    return tmp_path


def all_kinds() -> Secrets:
    return Secrets({"file": Provider("file"), "directory": Provider("directory"), "env": Provider("env")})


def resolved(text: str, place: Path) -> str:
    """The result of resolving ``text``. "@" stands for the place in both."""
    return all_kinds().resolve({"a": text.replace("@", str(place))})["a"].replace(str(place), "@")


@each_case(
    "text",
    [
        "${trace_id:}",
        "${trace_id:x}",
        "${vault:a:b}",
        "${vault}",
        "${}",
        "${:}",
        "${::}",
        "${:::}",
        "$ {env:HOME}",
        "${env:}",
        "${env::}",
        "${env:NO_SUCH_X}",
        "${env: HOME}",
        "${env:HOME }",
        "${ env:HOME}",
        "${ENV:HOME}",
        "${env:HOME",
        "${a${env:HOME}}",
        "${x${env:HOME}",
        "${\nenv:HOME}",
        "${env:\nHOME}",
        "${file:/one/part}",
        "${file:@/f}",
        "${file:@/f:nokey}",
        "${file:@/f: user}",
        "${file:@/f:us\0er}",
        "${file::user}",
        "${file:}",
        "${file::}",
        "${file:@/bom:a}",
        "${secrets:ns/x}",
        "${secrets:ns/x:key}",
        "${directory:@/d:no}",
        "${directory:@/d}",
        "${directory:@/d:}",
        "${directory::token}",
        "${directory:token}",
        "${directory:@/d:dangling}",
        "${directory:@/d:sub}",
        "${directory:@/d:sub/x}",
        "${directory:@/d:pipe}",
        "${directory:@/d:.}",
        "${directory:@/d:..}",
        "${directory:@/d:../f}",
        "${directory:/no/such:token}",
        "${directory:@/f:token}",
        "${directory:no/such:token}",
    ],
)
def test_what_connect_leaves_stays_as_it_is_written(text: str, place: Path) -> None:
    assert resolved(text, place) == text


@each_case(
    ("text", "value"),
    [
        ("${env:HOME}", "/root"),
        ("${env::HOME}", "/root"),
        ("pre${env:HOME}mid${env:HOME}post", "pre/rootmid/rootpost"),
        ("${env:HOME}}", "/root}"),
        ("$${env:HOME}", "$/root"),
        ("{${env:HOME}}", "{/root}"),
        ("${x}${env:HOME}", "${x}/root"),
        ("${env:HOME}${env:NO_SUCH_X}${vault:a}", "/root${env:NO_SUCH_X}${vault:a}"),
        ("${file:@/f:user}", "me"),
        ("${file:@/f:password}", "pass"),
        ("${file:@/f:empty}", ""),
        ("${file:@/f:}", "emptykey"),
        ("${file:@/f:ref}", "${file:/x:user}"),
        ("${file:@/f:sp}", "a b  "),
        ("${file:@/f:multi}", "one\ntwo"),
        ("${file:@/f:a:b}", "colonkey"),
        ("${file:@/f:nul}", "x\0y"),
        ("${file:@/../{place}/f:user}", "me"),
        ("${file:@/f/:user}", "me"),
        ("${file:@/f2:user}", "me"),
        ("${file:@/sp ace:a}", "1"),
        ("${file:@/bom:\ufeffa}", "bom"),
        ("${file:@/bom:b}", "2"),
        ("${directory:@/d:token}", "tok\n"),
        ("${directory:@/d/:token}", "tok\n"),
        ("${directory:@/d/../d:token}", "tok\n"),
        ("${directory:@/d:empty}", ""),
        ("${directory:@/d:link}", "tok\n"),
        ("${directory:@/d:.hidden}", "hid"),
    ],
)
def test_what_connect_resolves(text: str, value: str, place: Path) -> None:
    assert resolved(text.replace("{place}", place.name), place) == value


@each_case(
    "reference",
    [
        "${env:junk:HOME}",
        "${env: :HOME}",
        "${env:HOME:}",
        "${env:${env:HOME}",
        "${file:/no/such:user}",
        "${file:@:user}",
        "${file: @/f:user}",
        "${file:@/f :user}",
        "${file:f:user}",
        "${file:@/latin:a}",
        "${file:@/badesc:bad}",
        "${file:/a\0b:user}",
        "${file:@/d/pipe:user}",
        "${file:/dev/zero:user}",
        "${directory:@/d:latin}",
        "${directory:/a\0b:token}",
    ],
)
def test_what_connect_answers_with_500_names_property_and_reference(reference: str, place: Path) -> None:
    reference = reference.replace("@", str(place))
    with pytest.raises(CdcError) as caught:
        all_kinds().resolve({"database.password": f"{reference}"})
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
    assert f"The reference {reference} in the property database.password cannot be resolved" in caught.value.message


def test_the_reason_of_an_unreadable_file_is_only_in_the_log(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = set()
    for name in ("no", "d", "latin", "d/pipe", "badesc"):
        reference = f"${{file:{place}/{name}:user}}"
        with pytest.raises(CdcError) as caught:
            all_kinds().resolve({"a": reference})
        texts.add(str(caught.value).replace(reference, "R"))
    assert len(texts) == 1
    reasons = [record.__dict__["fields"]["reason"] for record in caplog.records]
    assert reasons[0] == "No such file or directory"
    assert len(set(reasons)) >= 3


def test_unresolved_and_resolved_references_are_distinguished(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    look = all_kinds().look_up({"a": "${env:HOME}/${env:NO_SUCH_X}", "b": "${vault:x}", "c": "plain"})
    assert look.values == {"a": "/root/${env:NO_SUCH_X}", "b": "${vault:x}", "c": "plain"}
    assert {name: [(one.reference, one.value) for one in found] for name, found in look.found.items()} == {"a": [("${env:HOME}", "/root")]}
    assert look.left == (("a", "${env:NO_SUCH_X}", "The environment has no such variable"),)
    assert [record.getMessage() for record in caplog.records] == ["reference not resolved"]
    assert "/root" not in repr(look)


def test_missing_key_does_not_quote_the_file(place: Path) -> None:
    look = all_kinds().look_up({"a": f"${{file:{place}/f:pass}}"})
    assert "p\u0061ss" not in look.left[0][2]


def test_a_large_file_is_not_read(place: Path) -> None:
    (place / "large").write_text("k=" + "v" * LIMIT)
    with pytest.raises(CdcError):
        all_kinds().resolve({"a": f"${{file:{place}/large:k}}"})


def test_a_short_text_cannot_stand_for_an_endless_one(place: Path) -> None:
    (place / "d" / "half").write_text("v" * (LIMIT // 2))
    one = f"${{directory:{place}/d:half}}"
    assert len(all_kinds().resolve({"a": one * 4})["a"]) == 2 * LIMIT
    with pytest.raises(CdcError, match="resolve to more than"):
        all_kinds().resolve({"a": one * 20, "b": one * 20})


# config.providers.*.param.allowed.paths


@pytest.fixture
def fenced(tmp_path: Path) -> Path:
    """``in`` is allowed; beside it lie ``out``, ``in2/f`` and ``other/f``, and symbolic links lead from the one to the other."""
    for folder in ("in/sub", "in2", "other"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("in/f", "in/sub/g", "out", "in2/f", "other/f"):
        (tmp_path / file).write_text("k=v")
    (tmp_path / "in" / "flink").symlink_to("f")
    (tmp_path / "in" / "sublink").symlink_to("sub")
    (tmp_path / "in" / "esc").symlink_to("../out")
    (tmp_path / "in" / "away").symlink_to("../other")
    (tmp_path / "lin").symlink_to("in")
    return tmp_path


def limited(place: Path, kind: str, paths: str = "@/in") -> Secrets:
    given = {
        "config.providers": "p",
        "config.providers.p.class": f"org.apache.kafka.common.config.provider.{kind}ConfigProvider",
        "config.providers.p.param.allowed.paths": paths.replace("@", str(place)),
    }
    return WorkerSettings.from_properties(given).secrets


@each_case("path", ["@/in/f", "@/in/f/", "@/in//f", "@/in/./f", "@/in/sub/../f", "@/in/../in/f", "@/in/sub/g", "@/in/flink"])
@each_case("paths", ["@/in", "@/in/", "@/in,", "@/x/../in", " @/in ", "@/other,@/in", "/"])
def test_files_in_allowed_paths_are_read(path: str, paths: str, fenced: Path) -> None:
    (fenced / "x").mkdir(exist_ok=True)
    text = f"${{p:{path.replace('@', str(fenced))}:k}}"
    assert limited(fenced, "File", paths).resolve({"a": text}) == {"a": "v"}


@pytest.mark.parametrize(
    "path",
    [
        *("@/out", "@/in/../out", "@/in/sub/../../out", "@/in2/f", "@/other/f", "/", "", "in/f", "../in/f", "file:@/in/f"),
        # These Kafka reads: it compares paths as they are written.
        *("@/in/esc", "@/in/away/f"),
        # Kafka reads no file through another name of the folder either.
        "@/lin/f",
    ],
)
def test_files_outside_of_allowed_paths_are_not_read(path: str, fenced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fenced)
    text = f"${{p:{path.replace('@', str(fenced))}:k}}"
    assert limited(fenced, "File").resolve({"a": text}) == {"a": text}


@each_case(("directory", "read"), [("@/in", True), ("@/in/", True), ("@/in/.", True), ("@/in/sub/..", True), ("@/in/..", False)])
@each_case(("key", "inside"), [("f", True), ("flink", True), ("esc", False), ("../out", False)])
def test_directories_are_limited_alike(directory: str, read: bool, key: str, inside: bool, fenced: Path) -> None:
    text = f"${{p:{directory.replace('@', str(fenced))}:{key}}}"
    assert limited(fenced, "Directory").resolve({"a": text}) == {"a": "k=v" if read and inside else text}


@pytest.mark.parametrize("path", ["@", "@/lin", "@/in2", "@/other", "@/in/away", "in", "", "@/in/f", "@/in/no"])
def test_other_directories_are_not_read(path: str, fenced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fenced)
    text = f"${{p:{path.replace('@', str(fenced))}:f}}"
    assert limited(fenced, "Directory").resolve({"a": text}) == {"a": text}


def test_a_single_file_can_be_allowed(fenced: Path) -> None:
    secrets = limited(fenced, "File", "@/in/f")
    texts = {name: f"${{p:{fenced}/in/{name}:k}}" for name in ("f", "esc")}
    assert secrets.resolve(texts) == {"f": "v", "esc": texts["esc"]}


def test_a_list_without_a_path_allows_none(fenced: Path) -> None:
    text = f"${{p:{fenced}/in/f:k}}"
    assert limited(fenced, "File", ",").resolve({"a": text}) == {"a": text}
    assert limited(fenced, "File", "").resolve({"a": text}) == {"a": "v"}


@pytest.mark.parametrize("paths", ["in", "@/in,in", "/no/such", "@/in,/no/such"])
def test_a_worker_does_not_start_with_paths_that_cannot_be_meant(paths: str, fenced: Path) -> None:
    with pytest.raises(SettingsError, match=r"config\.providers\.p\.param\.allowed\.paths"):
        limited(fenced, "File", paths)


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [("A.*", False), ("HOM", False), ("HOME|PATH", True), ("^HOME$", True), ("", False), (" HOME", False), (".*OM.*", True)],
)
def test_allowed_names_are_kept(pattern: str, allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/root")
    secrets = Secrets({"env": Provider("env", allowed_names=pattern)})
    assert secrets.resolve({"a": "${env:HOME}"}) == {"a": "/root" if allowed else "${env:HOME}"}


def test_a_worker_reads_patterns_in_java_s_syntax(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"config.providers": "e", "config.providers.e.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider"}
    monkeypatch.setenv("HOME", "/root")
    settings = WorkerSettings.from_properties({**given, "config.providers.e.param.allowlist.pattern": r"\p{Upper}+"})
    assert settings.secrets.resolve({"a": "${e:HOME}"}) == {"a": "/root"}


def test_a_worker_does_not_start_with_a_malformed_pattern() -> None:
    given = {"config.providers": "e", "config.providers.e.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider"}
    with pytest.raises(SettingsError, match=r"param\.allowlist\.pattern"):
        WorkerSettings.from_properties({**given, "config.providers.e.param.allowlist.pattern": "("})
