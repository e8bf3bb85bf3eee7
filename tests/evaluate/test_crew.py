"""Workers side by side find what one finds."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.worker import worker_client

pytestmark = pytest.mark.usefixtures("spawned_workers")

FIXTURES = Path(__file__).parents[2] / "fixtures"
MODELS = ["attention_einsum", "gae", "hmm", "kalman"]


def test_the_number_of_workers_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in MODELS:
        shutil.copytree(FIXTURES / name, tmp_path / name)
    (tmp_path / "pyproject.toml").write_text("[tool.shapecheck]\ncache = false\n")
    monkeypatch.chdir(tmp_path)
    started: list[int] = []
    start = worker_client.Worker.__init__

    def count(self: worker_client.Worker, *args: object, **kwargs: object) -> None:
        started[-1] += 1
        start(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(worker_client.Worker, "__init__", count)
    reports = []
    for jobs in (1, 2, 3):
        started.append(0)
        reports.append(check([Path()], replace(load([Path()]), jobs=jobs)))
    assert started == [1, 2, 3]
    assert {finding.code for finding in reports[0].findings} >= {"SC201", "SC203"}
    assert reports[1] == reports[0]
    assert reports[2] == reports[0]


ENDS = "import os\n\n\ndef end(x: Float[Array, 'n']) -> Float[Array, 'n']:\n    os._exit(3)\n"
REST = "\n\ndef same(x: Float[Array, 'n']) -> Float[Array, 'n']:\n    return x\n"
TYPES = "from jaxtyping import Array, Float\n"


def test_no_worker_takes_over_for_which_the_imports_leave_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow.py").write_text(f"import time\n{TYPES}{ENDS}{REST}\ntime.sleep(5)\n")
    started: list[object] = []
    start = worker_client.Worker.__init__

    def count(self: worker_client.Worker, *args: object, **kwargs: object) -> None:
        started.append(self)
        start(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(worker_client.Worker, "__init__", count)
    monkeypatch.chdir(tmp_path)
    report = check([Path()], replace(load([Path()]), jobs=1, budget=9.0, cache=False))
    assert len(started) == 1
    assert any("--budget" in each.reason for each in report.unreached)


def test_a_module_that_cannot_be_imported_is_not_tried_by_the_next_worker(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = tmp_path_factory.mktemp("imported")
    note = f"import tempfile\ntempfile.mkdtemp(dir={str(imported)!r})\n"
    (tmp_path / "broken.py").write_text(f"{TYPES}{note}{REST}\n1 / 0\n")
    (tmp_path / "model.py").write_text(f"{TYPES}{ENDS}{REST}")
    monkeypatch.chdir(tmp_path)
    report = check([Path()], replace(load([Path()]), jobs=1, cache=False))
    assert [(each.path, each.line) for each in report.verified] == [("model.py", 9), ("model.py", 9)]
    assert len(list(imported.iterdir())) == 1


def test_what_only_the_first_worker_could_import_ends_as_a_reason(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = str(tmp_path_factory.mktemp("imported"))
    once = f"import os, tempfile\nassert not os.listdir({imported!r})\ntempfile.mkdtemp(dir={imported!r})\n"
    (tmp_path / "model.py").write_text(f"{TYPES}{ENDS}")
    (tmp_path / "once.py").write_text(f"{TYPES}{once}{REST}")
    monkeypatch.chdir(tmp_path)
    report = check([Path()], replace(load([Path()]), jobs=1, cache=False))
    assert report.verified == ()
    assert {each.reason for each in report.unreached if each.path == "once.py"} == {
        "a second process, which was to evaluate it, could not import all that the first one had imported"
    }
