"""Python source is read, whatever other threads do meanwhile."""

from __future__ import annotations

import ast
import threading
import warnings

import pytest

from selfimprove import syntax


def test_one_text_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()
    order: list[str] = []

    def held_up(text: str) -> ast.Module:
        order.append(f"begin {text}")
        begun.set()
        assert go.wait(10)
        order.append(f"end {text}")
        return ast.Module([], [])

    monkeypatch.setattr(ast, "parse", held_up)
    threads = [threading.Thread(target=syntax.parse, args=(text,)) for text in ("a", "b")]
    threads[0].start()
    assert begun.wait(10)
    threads[1].start()
    threads[1].join(0.1)
    assert order == ["begin a"]
    go.set()
    for thread in threads:
        thread.join(10)
    assert order == ["begin a", "end a", "begin b", "end b"]


def test_what_python_would_warn_of_is_not_said() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(syntax.parse("x = '\\d' is 1\n"), ast.Module)
        assert syntax.compiles("x = '\\d' is 1\n", "x.py") == ""


@pytest.mark.parametrize("text", ["def", "x = \0", "(" * 5000 + ")" * 5000, "-" * 200_000 + "1"])
def test_what_cannot_be_parsed_is_one_of_few_errors(text: str) -> None:
    with pytest.raises(syntax.UNPARSABLE):
        syntax.parse(text)
    assert syntax.compiles(text, "x.py")
