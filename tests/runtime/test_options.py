"""What is to be checked, as the environment of a program's processes says it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shapecheck.runtime.runtime_options import RuntimeOptions, from_environment, to_environment


@pytest.mark.parametrize(
    "options",
    [
        RuntimeOptions(root="/project"),
        RuntimeOptions(
            root="/project",
            shapes=False,
            numerics=("outputs", "grads"),
            nan_only=True,
            prints=("blocks[0].*", "grad:f.x"),
            log=("/stages, of today.log", "-"),
            shows=("*attn*",),
            show_output="/page.html",
            failing="warn",
            save="/failures",
            monitor="blocks*",
            monitor_every=3,
            monitor_file="/monitor.jsonl",
            monitor_board="/events",
            include=("optax",),
            python="/usr/bin/python3",
            pdb=True,
        ),
    ],
)
def test_the_environment_says_the_same(options: RuntimeOptions) -> None:
    assert from_environment(to_environment(options)) == options


def test_paths_mean_the_same_when_the_program_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {
        "LOG": f"a.log{os.pathsep}-",
        "SHOW": "*",
        "SAVE_FAILURE": "out",
        "MONITOR": "*",
        "MONITOR_FILE": "m.jsonl",
    }
    options = from_environment({"SHAPECHECK_DEBUG": "1", **{f"SHAPECHECK_{n}": text for n, text in names.items()}})
    assert options is not None
    paths = (*options.log, options.show_output, options.save, options.monitor_file, options.monitor_board)
    a, page, out, monitor = (str(tmp_path / name) for name in ("a.log", "shapecheck-show.html", "out", "m.jsonl"))
    assert paths == (a, "-", page, out, monitor, "")


@pytest.mark.parametrize("text", ["", "0", "False", "no"])
def test_nothing_is_checked_unless_it_is_switched_on(text: str) -> None:
    assert from_environment({"SHAPECHECK_DEBUG": text, "SHAPECHECK_NUMERICS": "outputs"}) is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("SHAPECHECK_DEBUG", "maybe", "SHAPECHECK_DEBUG=maybe: expected True or False"),
        ("SHAPECHECK_NUMERICS", "outputs,nans", "^SHAPECHECK_NUMERICS: 'nans' is none of outputs, grads, ops"),
        ("SHAPECHECK_NAN_ONLY", "1", "^SHAPECHECK_NAN_ONLY: without numerics nothing looks for NaN"),
        ("SHAPECHECK_LOG", "/nowhere/stages.log", "^SHAPECHECK_LOG: there is no folder /nowhere"),
        ("SHAPECHECK_SHOW_OUTPUT", "page.html", "^SHAPECHECK_SHOW_OUTPUT: without show nothing is drawn"),
        ("SHAPECHECK_MONITOR_FILE", "x.jsonl", "^SHAPECHECK_MONITOR: a file for what is watched needs --monitor too"),
        ("SHAPECHECK_ON_FAILURE", "ignore", "^SHAPECHECK_ON_FAILURE: 'ignore' is none of raise, warn, breakpoint"),
    ],
)
def test_what_there_is_not_is_refused(name: str, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        from_environment({"SHAPECHECK_DEBUG": "1", name: text})


@pytest.mark.parametrize(("nan_only", "infinity"), [(False, "True"), (True, None)])
def test_what_jax_looks_for_itself_is_what_was_asked_for(nan_only: bool, infinity: str | None) -> None:
    variables = to_environment(RuntimeOptions(root="/project", numerics=("ops",), nan_only=nan_only))
    assert (variables["JAX_DEBUG_NANS"], variables.get("JAX_DEBUG_INFS")) == ("True", infinity)


def test_a_program_ends_with_the_reason_alone() -> None:
    variables = {**os.environ, "SHAPECHECK_DEBUG": "1", "SHAPECHECK_NUMERICS": "nans"}
    command = [sys.executable, "-c", "import shapecheck"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("shapecheck: SHAPECHECK_NUMERICS: 'nans' is none of")
