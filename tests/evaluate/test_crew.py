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
