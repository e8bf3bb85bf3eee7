"""Runs of a test's text by itself: what one does to its process is nothing to the next."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shapecheck.commands.reproduction_file import ReproductionRunner

FAILS = "def test_it():\n    raise ValueError('as it should')\n"


def test_each_run_has_a_process_of_its_own() -> None:
    changes = "import builtins\n\ndef test_it():\n    builtins.changed = True\n"
    asks = "import builtins\n\ndef test_it():\n    assert not hasattr(builtins, 'changed')\n"
    ends = "import os, sys\n\ndef test_it():\n    print('no more', file=sys.stderr, flush=True)\n    os._exit(3)\n"
    with ReproductionRunner(sys.executable, 60) as runner:
        found = [runner.run(text) for text in (changes, asks, ends, FAILS)]
    assert [each.error for each in found] == ["", "", "the end of the process", "ValueError"]
    assert [each.text for each in found[2:]] == ["no more", "as it should"]


def test_one_without_an_end_is_ended_and_the_next_one_runs() -> None:
    with ReproductionRunner(sys.executable, 60) as runner:
        runner.run(FAILS)  # JAX is imported now, whose time is not meant
        runner.seconds = 1
        endless = runner.run("def test_it():\n    while True:\n        pass\n")
        runner.seconds = 60
        assert (endless.error, endless.text) == ("no end", "it took longer than 1 seconds")
        assert runner.run(FAILS).error == "ValueError"


def test_what_the_interpreter_prints_at_its_start_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('hello')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    with ReproductionRunner(sys.executable, 60) as runner:
        assert [runner.run(FAILS).error for _ in range(2)] == ["ValueError", "ValueError"]


def test_an_interpreter_that_is_not_there_runs_nothing() -> None:
    with ReproductionRunner("/nowhere/python", 60) as runner:
        assert runner.run(FAILS).error == "the end of the process"
