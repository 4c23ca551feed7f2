"""What a command prints, for a terminal and for a pipe."""

from __future__ import annotations

import io
import json

import pytest

from workers.cli.output import Output, plain


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_text_and_a_pipe_json() -> None:
    assert Output("auto", Terminal()).text
    assert not Output("auto", io.StringIO()).text
    assert Output("text", io.StringIO()).text
    assert not Output("json", Terminal()).text


def test_json_is_whole_documents() -> None:
    stream = io.StringIO()
    out = Output("json", stream)
    out.json({"name": "Zoë"})
    assert json.loads(stream.getvalue()) == {"name": "Zoë"}
    out.json_line({"a": [1]})
    assert stream.getvalue().endswith('\n{"a":[1]}\n')


@pytest.mark.parametrize(
    ("encoding", "value", "text"), [("latin-1", "Zoë →", '"Zo\\u00eb \\u2192"'), ("utf-8", "Zoë", '"Zoë"'), ("UTF8", "\ud800", '"\\ud800"')]
)
def test_json_is_utf_8_in_every_encoding(encoding: str, value: str, text: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    Output("json", stream).json(value)
    stream.seek(0)
    assert stream.buffer.read() == f"{text}\n".encode()


def test_no_text_moves_the_cursor() -> None:
    stream = io.StringIO()
    out = Output("text", stream)
    out.line("a\x1b[2Jb\x9bc\r")
    out.table(("x",), [("\x1b]0;title\x07",)])
    assert "a\\u001b[2Jb\\u009bc\\u000d" in stream.getvalue()
    assert not {"\x1b", "\x9b", "\r", "\x07"} & set(stream.getvalue())


def test_text_is_no_markup() -> None:
    stream = io.StringIO()
    Output("text", stream).line("[red]cell[/red] :smile:")
    assert stream.getvalue() == "[red]cell[/red] :smile:\n"


def test_line_ends_stay() -> None:
    assert plain("a\n\tb") == "a\n\tb"
