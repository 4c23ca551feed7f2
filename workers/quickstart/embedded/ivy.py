"""Fetches files of a Maven repository with PySpark's Ivy: jars with their dependencies, or one archive.

Ivy's settings, cache and home are in folders of the caller, so HOME is neither read nor written. ``UNDERSTUDY_IVY_SETTINGS`` names an Ivy
settings file for a company's mirror.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from connector.extras import install_command
from workers.quickstart.embedded.failure import EmbeddedError
from workers.quickstart.embedded.java import Java
from workers.quickstart.embedded.java_truststore import PASSWORD, certificates, key_store, machine_bundle
from workers.spark.java_proxy import proxy_options

WITHOUT_POMS: Final = """<ivysettings><settings defaultResolver="public"/>
<resolvers><ibiblio name="public" m2compatible="true" usepoms="false"/></resolvers></ivysettings>
"""
"""Ivy reads an artifact's POM, and the POM's parents, before the artifact. An archive needs none of them, and not every mirror has them."""


def fetch_jars(java: Java, name: str, dependencies: Iterable[tuple[str, str, str]], folder: Path, ivy_cache: Path) -> None:
    """Put the artifacts, each an organisation, a module and a revision, and their dependencies into ``folder/libs``.

    ``name`` is the name of the set in messages. Raises EmbeddedError when the download fails.
    """
    lines = "".join(f'<dependency org="{org}" name="{name}" rev="{rev}" conf="default"/>' for org, name, rev in dependencies)
    _retrieve(java, name, lines, ("jar", "bundle"), folder, ivy_cache, _own_settings())


def fetch_archive(java: Java, dependency: tuple[str, str, str], classifier: str, folder: Path, ivy_cache: Path) -> None:
    """Put the artifact's archive with this classifier into ``folder/libs/<module>-<revision>.tar.gz``, without its dependencies.

    Raises EmbeddedError when the download fails.
    """
    org, module, revision = dependency
    line = (
        f'<dependency org="{org}" name="{module}" rev="{revision}" conf="default" transitive="false">'
        f'<artifact name="{module}" type="tar.gz" ext="tar.gz" m:classifier="{classifier}"/></dependency>'
    )
    settings = _own_settings()
    if not settings:
        settings = str(folder / "settings.xml")
        Path(settings).write_text(WITHOUT_POMS, encoding="ascii")
    _retrieve(java, f"{module}-{revision}", line, ("tar.gz",), folder, ivy_cache, settings)


def _own_settings() -> str:
    return os.environ.get("UNDERSTUDY_IVY_SETTINGS", "")


def _retrieve(java: Java, name: str, lines: str, types: Sequence[str], folder: Path, ivy_cache: Path, settings: str) -> None:
    module = folder / "ivy.xml"
    module.write_text(
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven"><info organisation="understudy" module="jars"/>'
        f"<dependencies>{lines}</dependencies></ivy-module>",
        encoding="utf-8",
    )
    command: list[str | Path] = [java.program, f"-Duser.home={folder}", *proxy_options(), *_trust(java, folder)]
    command += ["-jar", _ivy_jar(), *(["-settings", settings] if settings else [])]
    command += ["-ivy", module, "-cache", ivy_cache, "-types", *types, "-warn"]
    command += ["-retrieve", str(folder / "libs" / "[artifact]-[revision].[ext]")]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)  # noqa: S603 - our own arguments
    if done.returncode != 0 or not (folder / "libs").is_dir():
        said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip(" .:\t")]
        raise EmbeddedError(
            f"The files of {name} could not be fetched: {' | '.join(said[-6:])}. Check the way to the Maven repository "
            "(UNDERSTUDY_IVY_SETTINGS names an Ivy settings file for a mirror), then try again."
        )


def _trust(java: Java, folder: Path) -> list[str]:
    bundle = machine_bundle() if java.bundled else None
    if bundle is None:
        return []
    store = folder / "authorities.jks"
    store.write_bytes(key_store(certificates(bundle.read_text(encoding="utf-8", errors="replace"))))
    return [f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={PASSWORD}"]


def _ivy_jar() -> Path:
    spark = importlib.util.find_spec("pyspark")
    if spark is not None and spark.origin is not None:
        for jar in (Path(spark.origin).parent / "jars").glob("ivy-*.jar"):
            return jar
    raise EmbeddedError(f"Jars are fetched by the Ivy that PySpark ships. Install it: {install_command('spark')}")
