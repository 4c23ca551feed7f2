"""One event of a run, with the facets that Debezium's events have (recorded; OpenLineage specification 2-0-2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from connector.lineage.dataset import Dataset, DatasetField
from connector.lineage.job import LineageJob

State = Literal["START", "RUNNING", "COMPLETE", "FAIL"]

Members = dict[str, Any]

_SPEC: Final = "https://openlineage.io/spec/facets"
_SCHEMAS: Final = {
    "processing_engine": f"{_SPEC}/1-1-1/ProcessingEngineRunFacet.json#/$defs/ProcessingEngineRunFacet",
    "errorMessage": f"{_SPEC}/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet",
    "debezium_config": "https://github.com/debezium/debezium/tree/main/debezium-openlineage/src/main/java/io/debezium/openlineage/facets"
    "/spec/DebeziumRunFacet.json",
    "documentation": f"{_SPEC}/1-0-1/DocumentationJobFacet.json#/$defs/DocumentationJobFacet",
    "jobType": f"{_SPEC}/2-0-3/JobTypeJobFacet.json#/$defs/JobTypeJobFacet",
    "ownership": f"{_SPEC}/1-0-1/OwnershipJobFacet.json#/$defs/OwnershipJobFacet",
    "tags": f"{_SPEC}/1-0-0/TagsJobFacet.json#/$defs/TagsJobFacet",
    "schema": f"{_SPEC}/1-1-1/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
    "datasetType": f"{_SPEC}/1-0-0/DatasetTypeDatasetFacet.json#/$defs/DatasetTypeDatasetFacet",
}
_EVENT_SCHEMA: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Why a run failed. Neither text holds a value of a row or a secret."""

    message: str
    detail: str
    """What stands where Debezium has a stack trace."""


@dataclass(frozen=True, slots=True)
class LineageRun:
    """One run of a job. ``adapter`` is the version of OpenLineage's client."""

    job: LineageJob
    run_id: str
    adapter: str

    def event(self, state: State, at: str, datasets: Iterable[Dataset] = (), failure: RunFailure | None = None) -> Members:
        """Return the event as the members of its JSON. ``at`` is the time in ISO 8601 with its zone."""
        given = tuple(datasets)
        return {
            "eventTime": at,
            "producer": self._producer,
            "schemaURL": _EVENT_SCHEMA,
            "eventType": state,
            "run": {"runId": self.run_id, "facets": self._run_facets(failure)},
            "job": {"namespace": self.job.namespace, "name": self.job.name, "facets": self._job_facets()},
            "inputs": [self._dataset(each) for each in given if each.kind == "input"],
            "outputs": [self._dataset(each) for each in given if each.kind == "output"],
        }

    @property
    def _producer(self) -> str:
        return f"https://github.com/debezium/debezium/tree/v{self.job.version}/debezium-openlineage"

    def _facet(self, facet: str, /, **members: object) -> Members:
        return {"_producer": self._producer, "_schemaURL": _SCHEMAS[facet], **members}

    def _run_facets(self, failure: RunFailure | None) -> Members:
        engine = {"version": self.job.version, "name": "Debezium", "openlineageAdapterVersion": self.adapter}
        facets = {
            "processing_engine": self._facet("processing_engine", **engine),
            # The empty member is in the recorded events too.
            "debezium_config": self._facet("debezium_config", configs=list(self.job.configs), additionalProperties={}),
        }
        if failure is not None:
            fields = {"message": failure.message, "programmingLanguage": "Python", "stackTrace": failure.detail}
            facets["errorMessage"] = self._facet("errorMessage", **fields)
        return facets

    def _job_facets(self) -> Members:
        job = self.job
        tags = [{"key": key, "value": text, "source": "CONFIG"} for key, text in job.tags]
        return {
            "documentation": self._facet("documentation", description=job.description),
            "jobType": self._facet("jobType", processingType="STREAMING", integration="DEBEZIUM", jobType="TASK"),
            "ownership": self._facet("ownership", owners=[{"name": name, "type": role} for name, role in job.owners]),
            "tags": self._facet("tags", tags=tags),
        }

    def _dataset(self, dataset: Dataset) -> Members:
        facets = {
            "schema": self._facet("schema", fields=[_field(field) for field in dataset.fields]),
            "datasetType": self._facet("datasetType", datasetType=dataset.type, subType=""),
        }
        return {"namespace": dataset.namespace, "name": dataset.name, "facets": facets}


def _field(field: DatasetField) -> Members:
    members: Members = {"name": field.name, "type": field.type}
    if field.description is not None:
        members["description"] = field.description
    if field.fields:
        members["fields"] = [_field(each) for each in field.fields]
    return members
