"""Shards: what they leave to each other, and that their merge is what one machine would have reported."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from shapecheck.cli import main
from shapecheck.commands import blob as blobs
from shapecheck.commands.check import check
from shapecheck.commands.merge import MergeError, merge, read_packages
from shapecheck.commands.shard import check_shard
from shapecheck.config import load
from shapecheck.incremental.rerun import Rerun
from shapecheck.report import FORMATS
from shapecheck.worker import supervisor
from shapecheck.worker.shard_split import Shard

FILES = {
    "pyproject.toml": "[tool.shapecheck]\n",
    "pkg/__init__.py": "",
    "pkg/layers.py": """\
import jax.numpy as jnp
from jaxtyping import Array, Float


def scale(x: Float[Array, "batch d"], w: Float[Array, " d"]) -> Float[Array, "batch d"]:
    y = x * w  # (batch, d)
    return y


def swap(x: Float[Array, "batch d"]) -> Float[Array, "d batch"]:
    y = x.T  # (batch, d)
    return y


def project(x, w):
    h = x @ w  # shape: (rows, hidden)
    return h


class Table:
    @staticmethod
    def pick(x: Float[Array, "a b"], how):
        return x[0]  # (b,)

    @staticmethod
    def pick(x: Float[Array, "a b"], how):
        return x[1]  # (b,)


def broken(x: Float[Array, "batch d"], y: Float[Array, "other e"]):
    z = x @ y  # (batch, e)
    return z
""",
    "pkg/values.py": """\
import jax.numpy as jnp
from jaxtyping import Array, Float
from pkg.layers import scale


def positive(x: Float[Array, "n"]) -> Float[Array, "n"]:
    if x.sum() > 0:
        x = -x
    return x  # (n,)


def twice(x: Float[Array, "rows d"], w: Float[Array, " d"]) -> Float[Array, "rows d"]:
    return scale(scale(x, w), w)
""",
    "tests/test_layers.py": """\
import jax.numpy as jnp
from pkg.layers import project, scale


def test_scale():
    assert scale(jnp.ones((3, 4)), jnp.ones(4)).shape == (3, 4)


def test_project():
    project(jnp.ones((3, 4)), jnp.ones((4, 5)))


def test_project_square():
    project(jnp.ones((3, 3)), jnp.ones((3, 3)))
""",
}


class WorkerStartedError(Exception):
    """A run that ought to find everything has begun to evaluate."""


def no_worker(*_: object, **__: object) -> None:
    raise WorkerStartedError


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list[str]]:
    """A project, the JSON of a whole check of it, and the blobs of its three shards."""
    folder = tmp_path_factory.mktemp("project")
    write(folder, FILES)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        config = load([Path("pkg")], flags={"cache": False, "jobs": 1})
        whole = FORMATS["json"](check([Path("pkg")], config))
        parts = [blobs.dump(check_shard([Path("pkg")], config, Shard(number, 3))[0]) for number in (1, 2, 3)]
    return folder, whole, parts


@pytest.fixture
def blob_files(run: tuple[Path, str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The blobs, where neither the project nor anything of it is."""
    monkeypatch.chdir(tmp_path)
    files = [tmp_path / f"r{number}.blob" for number in (1, 2, 3)]
    for file, text in zip(files, run[2], strict=True):
        file.write_text(text)
    return files


def read_blobs(files: list[Path]) -> list[blobs.Blob]:
    (of_one_package,) = read_packages(files)
    return of_one_package


def edit(file: Path, **changes: Any) -> None:
    document = json.loads(file.read_text())
    document["origin"].update(changes)
    file.write_text(json.dumps(document))


def test_the_merge_is_the_report_of_one_machine(run: tuple[Path, str, list[str]], blob_files: list[Path]) -> None:
    parts = read_blobs(blob_files[::-1])
    assert FORMATS["json"](merge(parts, parts[0].config)) == run[1]
    claims = json.loads(run[1])["claims"]
    assert claims["verified"] > 3, "the comparison is of something"
    assert {each["code"] for each in json.loads(run[1])["findings"]} >= {"SC201", "SC305"}


def test_each_test_and_entry_is_evaluated_once(run: tuple[Path, str, list[str]]) -> None:
    outcomes = [blobs.load(text).outcome for text in run[2]]
    tests = sorted(key for outcome in outcomes for key in outcome.results)
    entries = sorted(key for outcome in outcomes for key in outcome.records)
    assert tests == sorted(plan.key for plan in outcomes[0].tests or ())
    assert entries == sorted({plan.key for plan in outcomes[0].entries})
    assert min(len(outcome.records) for outcome in outcomes) > 0


def test_a_shard_says_what_it_left_to_others(
    run: tuple[Path, str, list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(run[0])
    monkeypatch.setenv("TEST_SHARD_INDEX", "0")
    monkeypatch.setenv("TEST_TOTAL_SHARDS", "3")
    monkeypatch.setenv("TEST_SHARD_STATUS_FILE", str(run[0] / "status"))
    main(["check", "pkg", "--no-cache", "--show-unreached", "--output-format", "json"])
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert (run[0] / "status").exists()
    assert document["shard"]["number"] == 1
    assert document["shard"]["left"] > document["shard"]["taken"] > 0
    left = document["shard"]["left_targets"]
    assert len(left) == document["shard"]["left"]
    assert {"tests/test_layers.py::test_project", "pkg.layers:swap"} <= set(left)
    assert not set(left) & {each["target"] for each in document["entries"]}
    assert "left to another shard" in {each["reason"] for each in document["unreached"]}
    assert "left to other shards" in shown.err
    whole = json.loads(run[1])
    assert document["claims"]["total"] == whole["claims"]["total"]


def test_a_shard_with_findings_has_done_its_job_and_merge_fails(
    blob_files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["merge", *map(str, blob_files), "--output-format", "concise"]) == 1
    assert "SC201" in capsys.readouterr().out
    assert main(["merge", *map(str, blob_files), "--output-file", "out.sarif", "--output-format", "sarif", "-q"]) == 1
    assert json.loads(Path("out.sarif").read_text())["runs"]
    assert main(["merge", *map(str, blob_files), "--exit-zero", "-q"]) == 0


def test_what_the_time_was_too_short_for_counts_as_cut(blob_files: list[Path]) -> None:
    document = json.loads(blob_files[0].read_text())
    gone = document["outcome"]["records"].popitem()[0]
    blob_files[0].write_text(json.dumps(document))
    parts = read_blobs(blob_files)
    report = merge(parts, parts[0].config)
    assert report.cut == 1
    assert [each.reason for each in report.entries if "--budget" in each.reason], gone


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"commit": "0" * 40}, "at commit"),
        ({"version": "0.0.1"}, "by shapecheck .* and 0.0.1"),
        ({"paths": ["src"]}, "of the paths"),
        ({"files": {}}, "one has no pkg/__init__.py"),
        ({"configuration": {}}, "with other settings"),
        ({"versions": {"jax": "0.0.1"}}, "with other versions"),
    ],
)
def test_what_is_not_of_one_run_is_refused(blob_files: list[Path], change: dict[str, object], words: str) -> None:
    edit(blob_files[1], **change)
    with pytest.raises(MergeError, match=f"{words}.*Let all shards check the same commit"):
        read_blobs(blob_files)


def test_missing_doubled_and_damaged_shards_are_refused(blob_files: list[Path], tmp_path: Path) -> None:
    with pytest.raises(MergeError, match=r"shard 2/3 missing.*check --shard 2/3"):
        read_blobs([blob_files[0], blob_files[2]])
    again = shutil.copy(blob_files[0], tmp_path / "again.blob")
    with pytest.raises(MergeError, match="both shard 1/3"):
        read_blobs([*blob_files, Path(again)])
    with pytest.raises(MergeError, match="named twice"):
        read_blobs([*blob_files, blob_files[0]])
    whole = blob_files[2].read_text()
    for broken in (
        whole[:-100].encode(),
        whole.replace('"origin"', '"origi"').encode(),
        whole.encode()[:999] + b"\xff",
    ):
        blob_files[2].write_bytes(broken)
        with pytest.raises(MergeError, match=r"damaged.*run this shard again"):
            read_blobs(blob_files)
    blob_files[2].write_text(whole.replace('"shapecheck-blob":', '"shapecheck-blob":9'))
    with pytest.raises(MergeError, match="another version of shapecheck: merge with"):
        read_blobs(blob_files)
    blob_files[2].write_text("{}")
    with pytest.raises(MergeError, match="no blob"):
        read_blobs(blob_files)


def test_what_each_shard_left_to_another_is_refused(blob_files: list[Path]) -> None:
    """As where one was split by durations that the others did not know."""
    document = json.loads(blob_files[0].read_text())
    entry = next(iter(document["outcome"]["records"]))
    document["outcome"]["left"].append(f"entry:{entry}")
    blob_files[0].write_text(json.dumps(document))
    with pytest.raises(MergeError, match="each shard left this to another one"):
        read_blobs(blob_files)


def test_a_baseline_and_ignores_count_at_the_merge(blob_files: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty.json").write_text('{"version": 1, "findings": []}')
    document = json.loads(blob_files[0].read_text())
    document["config"]["ignore"] = ["SC"]
    blob_files[0].write_text(json.dumps(document))
    assert main(["merge", *map(str, blob_files)]) == 0
    assert "SC201" not in capsys.readouterr().out


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0"])
def test_what_names_no_shard_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", ".", "--shard", text]) == 2
    assert "such as 1/4 up to 4/4" in capsys.readouterr().err


def test_a_shard_cannot_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", ".", "--shard", "1/2", "--fix"]) == 2
    assert "--shard" in capsys.readouterr().err


def test_the_commit_is_that_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.py": "x = 1\n", "pyproject.toml": "[tool.shapecheck]\n"})
    monkeypatch.chdir(tmp_path)
    config = load([Path()], flags={"cache": False})
    assert check_shard([Path()], config, Shard(1, 1))[0].origin.commit == ""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    assert len(check_shard([Path()], config, Shard(1, 1))[0].origin.commit) == 40


def test_a_merge_makes_the_next_run_warm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each shard has a cache of its own, at another place."""
    # Of two functions by one name, results are kept of the last.
    files = {**FILES, "pkg/layers.py": FILES["pkg/layers.py"].replace("def pick(x", "def pick_first(x", 1)}
    for number in ("1", "2"):
        there = tmp_path / number / "checkout"
        write(there, files)
        monkeypatch.chdir(there)
        options = ["--shard", f"{number}/2", "--output-format", "blob", "--output-file", f"../../r{number}.blob"]
        assert main(["check", "pkg", "--cache-dir", "cache", *options, "-q"]) == 0
    write(tmp_path / "next", files)
    monkeypatch.chdir(tmp_path / "next")
    blob_names = ["../r1.blob", "../r2.blob"]
    main(["merge", *blob_names, "--cache-dir", "joined", "--output-format", "json"])
    shown = capsys.readouterr()
    assert "results of the shards in" in shown.err
    with monkeypatch.context() as patch:
        patch.setattr(supervisor, "Worker", no_worker)
        main(["check", "pkg", "--cache-dir", "joined", "--output-format", "json"])
        assert capsys.readouterr().out == shown.out
        with pytest.raises(WorkerStartedError):
            check([Path("pkg")], load([Path("pkg")], flags={"cache_dir": tmp_path / "1" / "checkout" / "cache"}))


def test_a_merge_of_shards_without_a_cache_has_none_to_keep(
    blob_files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["merge", *map(str, blob_files), "--cache-dir", "joined"]) == 2
    assert "carry no results" in capsys.readouterr().err
    assert not Path("joined").exists()


def test_shards_that_share_a_cache_agree_on_the_split_by_what_it_knew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, FILES)
    monkeypatch.chdir(tmp_path)
    config = load([Path("pkg")], flags={"cache_dir": tmp_path / "shared", "jobs": 1})
    check([Path("pkg")], config)
    known = Rerun(config, [Path("pkg")], {}, []).memory([]).agreed_durations(9)
    assert {"test:tests/test_layers.py::test_scale", "entry:function:pkg/layers.py:swap"} <= known.keys()
    layers = tmp_path / "pkg" / "layers.py"
    layers.write_text(layers.read_text().replace("y = x.T  # (batch, d)", "y = x.T  # (d, batch)"))
    first = check_shard([Path("pkg")], config, Shard(1, 2))[0]
    second = check_shard([Path("pkg")], config, Shard(2, 2))[0]
    for number, each in enumerate((first, second)):
        (tmp_path / f"{number}.blob").write_text(blobs.dump(each))
    parts = read_blobs([tmp_path / "0.blob", tmp_path / "1.blob"])
    alone = load([Path("pkg")], flags={"cache": False, "jobs": 1})
    assert FORMATS["json"](merge(parts, parts[0].config)) == FORMATS["json"](check([Path("pkg")], alone))
