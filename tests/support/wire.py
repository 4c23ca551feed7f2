"""Answers decoded as strictly as the typed clients decode them: a wrong type, a missing member or an unknown word fails the test."""

from __future__ import annotations

from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ConfigDict, TypeAdapter

T = TypeVar("T")


class Wire(BaseModel):
    """A JSON object as a client's class has it. Numbers and null are not accepted as strings. Unknown members are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class Refusal(Wire):
    """What every failure says."""

    error_code: int
    message: str


def read(shape: type[T], answer: httpx.Response, code: int = httpx.codes.OK) -> T:
    """The answer's body in this shape (a class of Wire, or a type such as ``dict[str, str]``); its status must be ``code``."""
    assert answer.status_code == code, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
    assert answer.headers["content-type"].partition(";")[0] == "application/json"
    adapter: TypeAdapter[Any] = TypeAdapter(shape)
    decoded: T = adapter.validate_json(answer.content, strict=True)
    return decoded


def refused(answer: httpx.Response, code: int) -> str:
    """The message of a failure, whose body must tell the status again."""
    reported = read(Refusal, answer, code)
    assert reported.error_code == code
    return reported.message


def done(answer: httpx.Response, code: int) -> None:
    """Nothing but this status, and no body."""
    assert (answer.status_code, answer.content) == (code, b""), f"{answer.request.method} {answer.request.url}: {answer.text}"
