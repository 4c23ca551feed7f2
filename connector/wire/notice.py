"""A warning that an adapter of messages wants to log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning: ``event`` says what happened, ``fields`` give the details (:mod:`connector.log`)."""

    event: str
    fields: Mapping[str, str]
