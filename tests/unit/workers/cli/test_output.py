"""What a command prints, for a terminal and for a pipe."""

from __future__ import annotations

import io
import json

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
