"""The scanner of references against the pattern of Kafka's ``ConfigTransformer``."""

from __future__ import annotations

import re
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.each_case import each_case
from workers.settings.references import Reference, references

KAFKA: Final = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")


def expected(text: str) -> list[Reference]:
    return [Reference(found.start(), found.end(), found[1], found[3] or "", found[4]) for found in KAFKA.finditer(text)]


@settings(max_examples=30 * settings().max_examples)
@given(st.text(alphabet="${}:ab", max_size=14))
def test_references_are_those_of_kafkas_pattern(text: str) -> None:
    assert list(references(text)) == expected(text)


@each_case("text", ["${a:b}", "${a:b:c}", "${a::c}", "${:}", "${:::}", "x${a${b:c}}${d:e}y", "${\na:\nb}", "$${a:b}}", "${a:b"])
def test_single_texts(text: str) -> None:
    assert list(references(text)) == expected(text)


@pytest.mark.parametrize("text", ["${" + ":" * 1_000_000, "${" * 500_000, "${:" * 300_000, "${" + ":" * 1_000_000 + "}"])
def test_hostile_texts_need_one_pass(text: str) -> None:
    # With Kafka's pattern as it is written these need years; see workers/settings/references.py.
    assert len(list(references(text))) == text.count("}")
