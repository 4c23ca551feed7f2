"""Patterns of times mean here what they mean to Java's SimpleDateFormat: recorded answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from connector.java.date_format import DateFormat, PatternError

RECORDED: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "date_format_recorded.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("pattern", "texts"), RECORDED["written"])
def test_times_are_written_as_java_writes_them(pattern: str, texts: Any) -> None:
    if isinstance(texts, dict):
        with pytest.raises(PatternError) as caught:
            DateFormat.compile(pattern)
        assert str(caught.value) == texts["failed"]
        return
    compiled = DateFormat.compile(pattern)
    assert dict(zip(RECORDED["times"], map(compiled.format, RECORDED["times"]), strict=True)) == dict(
        zip(RECORDED["times"], texts, strict=True)
    )


@pytest.mark.parametrize(("pattern", "answers"), RECORDED["read"])
def test_texts_are_read_as_java_reads_them(pattern: str, answers: list[Any]) -> None:
    compiled = DateFormat.compile(pattern)
    wanted = {text: None if isinstance(answer, dict) else answer for text, answer in answers}
    assert {text: compiled.parse(text) for text in wanted} == wanted
