"""Sends events to OpenLineage with its own client, which the extra ``openlineage`` installs.

The client is set up by the file that ``openlineage.integration.config.file.path`` names. The names that OpenLineage's Java client has for
settings of its transports are understood, so that the file of a connector on Debezium serves here.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Protocol

from connector.extras import install_command
from connector.io.regular_file import read_regular

_FILE: Final = "openlineage.integration.config.file.path"
_TRANSPORTS: Final = ("http", "kafka", "file", "console", "noop")
"""Transports that a file may name. The client imports any class that it is given; whoever may configure a connector must not choose one."""
_JAVA_NAMES: Final = {
    "file": {"location": "log_file_path"},
    "kafka": {"topicName": "topic", "properties": "config"},
}
_JOB_FACETS: Final = {
    "documentation": ("documentation_job", "DocumentationJobFacet"),
    "jobType": ("job_type_job", "JobTypeJobFacet"),
    "ownership": ("ownership_job", "OwnershipJobFacet"),
    "tags": ("tags_job", "TagsJobFacet"),
}
_RUN_FACETS: Final = {
    "processing_engine": ("processing_engine_run", "ProcessingEngineRunFacet"),
    "errorMessage": ("error_message_run", "ErrorMessageRunFacet"),
}
_DATASET_FACETS: Final = {
    "schema": ("schema_dataset", "SchemaDatasetFacet"),
    "datasetType": ("dataset_type_dataset", "DatasetTypeDatasetFacet"),
}


class LineageSetupError(Exception):
    """Events cannot be sent. The text says why and what to do."""


class Emit(Protocol):
    """Sends the members of one event; blocks, and raises an exception of any kind if the event could not be sent."""

    def __call__(self, event: dict[str, Any], /) -> None:
        """Send ``event``."""


def adapter_version() -> str:
    """Return the version of OpenLineage's client. Raises LineageSetupError if it is not installed."""
    try:
        return version("openlineage-python")
    except PackageNotFoundError as missing:
        raise LineageSetupError(f"OpenLineage's client is not installed. Install it: {install_command('openlineage')}") from missing


def open_client(path: str) -> Emit:
    """Set up the client by the file at ``path``. Imports the client and reads the file, so call it in a thread.

    Raises LineageSetupError.
    """
    adapter_version()
    settings = _settings(path)
    try:
        client = import_module("openlineage.client").OpenLineageClient(config=settings)
    except Exception as problem:
        # The client raises errors of many kinds, and their texts may quote the file.
        raise LineageSetupError(
            f"{_FILE}: the client refuses the settings ({_name(problem)}). See the documentation of its transports"
        ) from problem
    return lambda event: client.emit(_typed(event))


def _settings(path: str) -> dict[str, Any]:
    yaml = import_module("yaml")
    try:
        settings = yaml.safe_load(read_regular(path))
    except (OSError, ValueError, yaml.YAMLError) as problem:
        raise LineageSetupError(
            f"{_FILE}: no YAML could be read ({_name(problem)}). Name a file of at most 1 MiB that the worker may read"
        ) from problem
    transport = settings.get("transport") if isinstance(settings, dict) else None
    kind = transport.get("type") if isinstance(transport, dict) else None
    if not isinstance(settings, dict) or not isinstance(transport, dict) or kind not in _TRANSPORTS:
        raise LineageSetupError(f"{_FILE}: the file must set transport.type to one of {', '.join(_TRANSPORTS)}")
    names = _JAVA_NAMES.get(kind, {})
    renamed = {names.get(key, key): value for key, value in transport.items()}
    if kind == "file" and "location" in transport:
        # Java's transport appends to one file; Python's writes a file for each event by default.
        renamed.setdefault("append", True)
    return {**settings, "transport": renamed}


def _name(problem: BaseException) -> str:
    return type(problem).__name__


def _typed(event: dict[str, Any]) -> Any:
    """Return the client's own form of an event."""
    v2 = import_module("openlineage.client.event_v2")
    run, job = event["run"], event["job"]
    return v2.RunEvent(
        eventTime=event["eventTime"],
        producer=event["producer"],
        eventType=v2.RunState(event["eventType"]),
        run=v2.Run(run["runId"], _facets(run["facets"], _RUN_FACETS)),
        job=v2.Job(job["namespace"], job["name"], _facets(job["facets"], _JOB_FACETS)),
        inputs=[v2.InputDataset(**_dataset(each), inputFacets=None) for each in event["inputs"]],
        outputs=[v2.OutputDataset(**_dataset(each), outputFacets=None) for each in event["outputs"]],
    )


def _dataset(members: dict[str, Any]) -> dict[str, Any]:
    return {**members, "facets": _facets(members["facets"], _DATASET_FACETS)}


def _facets(given: dict[str, Any], classes: dict[str, tuple[str, str]]) -> dict[str, Any]:
    return {name: _facet(members, classes.get(name)) for name, members in given.items()}


def _facet(members: dict[str, Any], known: tuple[str, str] | None) -> Any:
    own = {name: value for name, value in members.items() if not name.startswith("_")}
    if known is None:
        base = import_module("openlineage.client.generated.base")
        facet = base.RunFacet(producer=members["_producer"]).with_additional_properties(**own)
    else:
        module, name = known
        if name == "TagsJobFacet":
            # The client adds the tags of its environment to this list, and compares them by attribute.
            field = import_module("openlineage.client.generated.tags_job").TagsJobFacetFields
            own = {"tags": [field(**tag) for tag in own["tags"]]}
        facet = getattr(import_module(f"openlineage.client.generated.{module}"), name)(**own, producer=members["_producer"])
    # The client has versions of some facets that are later than those of the recorded events, with further optional members.
    facet._schemaURL = members["_schemaURL"]  # noqa: SLF001 (the member has this name in JSON)
    return facet
