"""The source of functions, also where several threads ask for it."""

from __future__ import annotations

import ast
import gc
import threading

import jax
import pytest

from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.parse_python import parse_python


@pytest.fixture
def _eager_collector():
    before = gc.get_threshold()
    gc.set_threshold(50)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_eager_collector")
def test_threads_parse_one_after_the_other() -> None:
    problems: list[BaseException] = []

    def parse() -> None:
        try:
            for _ in range(8):
                assert defining_source(threading.Thread) is not None
        except BaseException as error:
            problems.append(error)

    jax.numpy.zeros(3)  # from now on JAX is told of each collection
    threads = [threading.Thread(target=parse) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_a_parser_that_is_disturbed_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As CPython 3.11 says "AST constructor recursion depth mismatch" where code runs in between."""
    answers = [SystemError("AST constructor recursion depth mismatch"), ast.Module(body=[], type_ignores=[])]

    def disturbed(text: str, filename: str) -> ast.Module:
        answer = answers.pop(0)
        if isinstance(answer, SystemError):
            raise answer
        return answer

    monkeypatch.setattr(ast, "parse", disturbed)
    assert parse_python("pass").body == []
    answers[:] = [SystemError("again")] * 3
    with pytest.raises(SyntaxError, match="did not come to its end"):
        parse_python("pass")
