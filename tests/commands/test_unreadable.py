"""Files that cannot be read cost themselves; a run that could read none is no run."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import ConfigError, load

WRONG = "from jaxtyping import Array, Float\n\ndef f(x: Float[Array, 'b d']) -> Float[Array, 'd b']:\n    return x\n"


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name.startswith("closed"):
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)


@pytest.mark.usefixtures("refused")
def test_the_others_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("closed.py", "open.py"):
        (tmp_path / name).write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # also where results are kept
        report = check([tmp_path], load([tmp_path]))
        assert report.unread == (("closed.py", "cannot be read: Permission denied"),)
        assert [(each.path, each.code) for each in report.findings] == [("open.py", "SC203")]


@pytest.mark.usefixtures("refused")
def test_if_there_are_none_the_run_could_not_do_its_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed.py").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"closed\.py: cannot be read: Permission denied"):
        check([tmp_path], load([tmp_path]))


def test_files_for_which_the_budget_leaves_no_time_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        (tmp_path / f"m{number}.py").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    for first in ("m0.py", "m0.py"):  # also where the first one is known already
        report = check([tmp_path], load([tmp_path], flags={"budget": 1e-6}))
        assert (report.files, report.summary.total) == (1, 2)
        assert [path for path, _ in report.unread] == [each for each in ("m0.py", "m1.py", "m2.py") if each != first]
        assert all("--budget" in reason for _, reason in report.unread)
    report = check([tmp_path], load([tmp_path]))  # and no later run takes that for the whole
    assert (report.unread, len(report.findings)) == ((), 3)
