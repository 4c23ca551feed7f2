"""An object store that speaks the protocol of S3, in memory, on a loopback address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from tests.support.moto_server import moto_server

USER, PASSWORD, REGION = "tester", "not-a-secret", "us-east-1"


@dataclass(frozen=True)
class ObjectStore:
    """A running store with one bucket."""

    url: str
    bucket: str

    @property
    def spark(self) -> dict[str, str]:
        """The settings of Hadoop's file system for it."""
        own = {
            "endpoint": self.url,
            "endpoint.region": REGION,
            "access.key": USER,
            "secret.key": PASSWORD,
            "path.style.access": "true",
        }
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in own.items()}

    def names(self, prefix: str) -> list[str]:
        """The names of the objects that begin so."""
        listed = self.client().list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        return [each["Key"] for each in listed.get("Contents", [])]

    def client(self) -> Any:
        return boto3.client("s3", endpoint_url=self.url, aws_access_key_id=USER, aws_secret_access_key=PASSWORD, region_name=REGION)


@contextmanager
def object_store(folder: Path, bucket: str = "lake") -> Iterator[ObjectStore]:
    """A store with an empty bucket, within the block."""
    with moto_server(folder / "s3.log") as url:
        store = ObjectStore(url, bucket)
        store.client().create_bucket(Bucket=bucket)
        yield store
