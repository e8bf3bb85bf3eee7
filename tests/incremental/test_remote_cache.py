"""A cache at a URL: read through, written back, trusted no more than a miss where anything is wrong with it."""

from __future__ import annotations

import json
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shapecheck.cli import main
from shapecheck.config import load
from shapecheck.incremental import remote_store
from shapecheck.incremental.cache_store import Store
from shapecheck.incremental.portable_paths import ProjectPlace, SharedStore
from shapecheck.incremental.remote_store import RemoteStore
from shapecheck.worker import supervisor

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def url() -> Iterator[str]:
    """A place in memory that nobody else uses."""
    name = f"/{uuid.uuid4().hex}"
    yield f"memory:/{name}"
    fsspec.filesystem("memory").store.clear()


def objects() -> dict[str, bytes]:
    return {path: each.getvalue() for path, each in fsspec.filesystem("memory").store.items()}


class WorkerStartedError(Exception):
    """A run that ought to find everything has begun to evaluate."""


def no_worker(*_: object, **__: object) -> None:
    raise WorkerStartedError


def test_another_machine_finds_what_one_has_put(url: str, tmp_path: Path) -> None:
    one, other = RemoteStore(url, Store(tmp_path / "one")), RemoteStore(url, Store(tmp_path / "other"))
    one.put("slot", "text")
    assert other.get("slot") is None, "what a run learns is handed on at its end"
    assert one.finish() == ()
    assert other.get("slot") == "text"
    fsspec.filesystem("memory").store.clear()
    assert Store(tmp_path / "other").get("slot") == "text", "what was read there is kept here"


def test_many_are_fetched_in_one_round_and_what_is_absent_is_asked_for_once(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = RemoteStore(url, Store(tmp_path / "one")), RemoteStore(url, Store(tmp_path / "other"))
    for number in range(50):
        one.put(f"slot {number}", f"text {number}")
    one.finish()
    rounds: list[str] = []
    ask = other._ask
    monkeypatch.setattr(other, "_ask", lambda request, limit: rounds.append("asked") or ask(request, limit))
    other.fetch([f"slot {number}" for number in range(60)])
    assert other.get("slot 49") == "text 49"
    assert other.get("slot 55") is None
    assert rounds == ["asked"]


def test_the_newest_is_that_of_the_place_and_the_first_stays(url: str, tmp_path: Path) -> None:
    one, other = RemoteStore(url, Store(tmp_path / "one")), RemoteStore(url, Store(tmp_path / "other"))
    assert one.put_first("split", "one") == "one"
    assert other.put_first("split", "other") == "one"
    other.put("table", "old")
    one.put("table", "new")
    one.finish()
    assert (other.get("table"), other.get("table", newest=True)) == ("old", "new")


def test_what_was_tampered_with_there_is_a_miss(url: str, tmp_path: Path) -> None:
    RemoteStore(url, Store(tmp_path / "near")).put("other", "text")
    one = RemoteStore(url, Store(tmp_path / "one"))
    one.put("slot", "text")
    one.finish()
    system = fsspec.filesystem("memory")
    ((path, data),) = objects().items()
    for forged in (data.replace(b"text\n", b"tex!\n"), data[:-1], b"", b"{}", data.replace(b"cache 1", b"cache 2")):
        system.pipe_file(path, forged)
        fresh = RemoteStore(url, Store(tmp_path / uuid.uuid4().hex))
        if forged != data:
            assert fresh.get("slot") is None
            fresh.fetch(["slot"])
            assert fresh.get("slot") is None
    one.put("slot", "text")
    one.finish()
    assert RemoteStore(url, Store(tmp_path / "again")).get("slot") == "text", "and is mended by the next who writes"
    system.pipe_file(path, b"damaged")
    fresh = [RemoteStore(url, Store(tmp_path / name)) for name in ("first", "second")]
    assert [each.put_first("slot", name) for name, each in zip(("one", "two"), fresh, strict=True)] == ["one", "one"]


def test_with_a_key_what_others_have_signed_is_a_miss(url: str, tmp_path: Path) -> None:
    """As where somebody can write there who may not: a forged entry has a right checksum."""
    forger = RemoteStore(url, Store(tmp_path / "forger"), b"guess")
    plain = RemoteStore(url, Store(tmp_path / "plain"))
    for store in (forger, plain):
        store.put("slot", "forged")
        store.finish()
        ours = RemoteStore(url, Store(tmp_path / uuid.uuid4().hex, b"key"), b"key")
        assert ours.get("slot") is None
        ours.fetch(["slot"])
        assert ours.get("slot") is None
    assert RemoteStore(url, Store(tmp_path / "plain", b"key"), b"key").get("slot") is None, "nor are copies trusted"
    ours.put("slot", "text")
    ours.finish()
    assert RemoteStore(url, Store(tmp_path / "other", b"key"), b"key").get("slot") == "text"


def test_a_place_that_may_only_be_read_is_of_that_use(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = RemoteStore(url, Store(tmp_path / "one"))
    one.put("slot", "text")
    one.finish()
    reader = RemoteStore(url, Store(tmp_path / "reader"))

    def refuse(*_: object, **__: object) -> Any:
        raise PermissionError("read only")

    for name in ("pipe", "pipe_file"):
        monkeypatch.setattr(reader._system, name, refuse, raising=False)
    assert reader.put_first("split", "mine") == "mine"
    reader.put("new", "text")
    assert reader.get("slot") == "text"
    (note,) = reader.finish()
    assert note.startswith("What this run has learnt was not written")
    assert "read only" in note


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of a server that speaks S3."""
    server_of = pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    system = fsspec.filesystem("s3", skip_instance_cache=True)
    system.mkdir("bucket")
    yield "s3://bucket/shapes"
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    server.stop()


def test_another_machine_finds_all_in_a_bucket(
    s3: str,
    project: Callable[[Path], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(name: str) -> tuple[str, str]:
        monkeypatch.chdir(project(tmp_path / name / "checkout"))
        main(["check", "pkg", "--cache-dir", s3, "--output-format", "json", "--jobs", "1"])
        shown = capsys.readouterr()
        return shown.out, shown.err

    first, said = run("a")
    assert '"SC201"' in first
    assert "cache" not in said
    with monkeypatch.context() as patch:
        patch.setattr(supervisor, "Worker", no_worker)
        assert run("b")[0] == first
    one, other = (RemoteStore(s3, Store(tmp_path / name)) for name in ("one", "other"))
    assert one.put_first("split", "one") == "one"
    assert other.put_first("split", "other") == "one"
    assert other.finish() == ()


def test_a_place_that_cannot_be_reached_is_asked_once_and_the_run_goes_on(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RemoteStore(url, Store(tmp_path / "near"))
    asked: list[str] = []

    def refuse(*_: object, **__: object) -> Any:
        asked.append("asked")
        raise ConnectionError("nobody there")

    for name in ("cat_file", "cat", "pipe", "pipe_file"):
        monkeypatch.setattr(store._system, name, refuse, raising=False)
    assert store.get("slot") is None
    store.put("slot", "text")
    assert store.get("slot") == "text"
    assert store.put_first("split", "mine") == "mine"
    (note,) = store.finish()
    assert url in note
    assert "nobody there" in note
    assert asked == ["asked"]


def test_a_place_that_does_not_answer_is_given_up(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RemoteStore(url, Store(tmp_path / "near"))
    never = threading.Event()
    monkeypatch.setattr(store._system, "cat_file", lambda path: never.wait(30))
    monkeypatch.setattr(remote_store, "_LIMIT", 0.05)
    assert store.get("slot") is None
    assert "no answer" in store.finish()[0]
    never.set()


def test_a_url_without_its_library_says_what_to_install(
    project: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project(tmp_path))
    assert main(["check", "pkg", "--cache-dir", "nowhere://x"]) == 2
    assert "nowhere" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    assert main(["check", "pkg", "--cache-dir", "s3://bucket/x"]) == 2
    assert "pip install 'jax-shapecheck[remote]'" in capsys.readouterr().err


def test_the_url_of_a_file_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.shapecheck]\ncache-dir = "s3://bucket/name"\n')
    assert load([tmp_path]).cache_dir == "s3://bucket/name"
    assert load([tmp_path], flags={"cache_dir": None}).cache_dir == "s3://bucket/name"
    (tmp_path / "pyproject.toml").write_text('[tool.shapecheck]\ncache-dir = "file:///mnt/ci"\n')
    assert load([tmp_path]).cache_dir == Path("/mnt/ci")
    (tmp_path / "pyproject.toml").write_text('[tool.shapecheck]\ncache-dir = "shared"\n')
    assert load([tmp_path]).cache_dir == tmp_path / "shared"


def test_environments_outside_of_the_project_are_found_again(tmp_path: Path) -> None:
    for name in ("alice", "bob"):
        (tmp_path / name / "env" / "bin").mkdir(parents=True)
        (tmp_path / name / "env" / "pyvenv.cfg").write_text("")
        (tmp_path / name / "env" / "bin" / "python").write_text("")
        (tmp_path / name / "project").mkdir()
    places = [ProjectPlace(tmp_path / n / "project", tmp_path / n / "env" / "bin" / "python") for n in ("alice", "bob")]
    alice, bob = (SharedStore(Store(tmp_path / "shared"), place) for place in places)
    text = json.dumps([f"{tmp_path}/alice/project/a.py", f"{tmp_path}/alice/env/lib", f"{tmp_path}/alice/project2"])
    alice.put(f"of {tmp_path}/alice/env", text)
    assert json.loads(bob.get(f"of {tmp_path}/bob/env") or "[]") == [
        f"{tmp_path}/bob/project/a.py",
        f"{tmp_path}/bob/env/lib",
        f"{tmp_path}/alice/project2",
    ]


def test_branches_do_not_displace_each_others_results(
    project: Callable[[Path], Path],
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One after the other on machines that have nothing but the cache in common."""

    def run(name: str, edit: tuple[str, str] = ("", "")) -> str:
        folder = project(tmp_path / name / "checkout")
        file = folder / "pkg" / "layers.py"
        file.write_text(file.read_text().replace(*edit))
        monkeypatch.chdir(folder)
        main(["check", "pkg", "--cache-dir", url, "--output-format", "json", "--jobs", "1"])
        return capsys.readouterr().out

    mended = ("x.T  # (batch, d)", "x.T  # (d, batch)")
    main_branch, other_branch = run("a"), run("b", mended)
    assert '"SC201"' in main_branch
    assert '"SC201"' not in other_branch
    with monkeypatch.context() as patch:
        patch.setattr(supervisor, "Worker", no_worker)
        assert run("c") == main_branch
        assert run("d", mended) == other_branch


def test_a_new_commit_takes_over_what_the_edit_does_not_concern(
    project: Callable[[Path], Path],
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = project(tmp_path / "a")
    monkeypatch.chdir(folder)
    main(["check", "pkg", "--cache-dir", url, "--output-format", "json", "--jobs", "1"])
    there = project(tmp_path / "b")
    (there / "pkg" / "more.py").write_text(
        'from jaxtyping import Array, Float\n\n\ndef double(x: Float[Array, "n"]) -> Float[Array, "n"]:\n'
        "    return x + x  # (n,)\n"
    )
    monkeypatch.chdir(there)
    asked: list[str] = []
    ask = supervisor.Worker.ask

    def note(self: supervisor.Worker, request: Any, limit: float) -> Any:
        asked.append(type(request).__name__)
        return ask(self, request, limit)

    monkeypatch.setattr(supervisor.Worker, "ask", note)
    main(["check", "pkg", "--cache-dir", url, "--output-format", "json", "--jobs", "1"])
    assert asked.count("EvaluateEntry") == 1, "the new function alone"
    assert "RunTest" not in asked
