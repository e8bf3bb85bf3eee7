"""Where the glob of `--monitor` ends and the program begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecheck.cli import main, run_command


@pytest.mark.parametrize(
    ("words", "glob", "program"),
    [
        (["--monitor", "train.py", "--monitor", "x"], "*", ["train.py", "--monitor", "x"]),
        (["--log", "stages.log", "--monitor", "blocks*", "train.py"], "blocks*", ["train.py"]),
        (["--monitor", "--monitor-every", "3", "train.py"], "*", ["train.py"]),
        (["--monitor=a*", "train.py"], "a*", ["train.py"]),
        (["--monitor", "-m", "pkg.train", "--steps", "3"], "*", ["-m", "pkg.train", "--steps", "3"]),
    ],
)
def test_the_glob_may_be_left_out(
    words: list[str], glob: str, program: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("train.py", "stages.log"):
        Path(name).touch()
    started: list[tuple[list[str], dict[str, str]]] = []

    def replace(command: list[str], environment: dict[str, str]) -> int:
        started.append((command, environment))
        return 0

    monkeypatch.setattr(run_command, "_replace_process", replace)
    assert main(["run", *words]) == 0
    ((command, environment),) = started
    assert command[-len(program) :] == program
    assert environment["SHAPECHECK_MONITOR"] == glob


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--monitor-file", "x.jsonl", "train.py"], "a file for what is watched needs --monitor too"),
        (["--monitor", "--monitor-every", "0", "train.py"], "0 is not in the range x>=1"),
        (["--monitor", "--monitor-file", "none/x.jsonl", "train.py"], "there is no folder"),
    ],
)
def test_options_that_do_not_fit_are_an_error(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").touch()
    assert main(["run", *words]) == 2
    assert message in capsys.readouterr().err
