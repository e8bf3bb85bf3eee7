"""Which files are read, and by which name each is imported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shapecheck.files import discover, module_name


@pytest.fixture
def make(tmp_path: Path):
    """Write files (given as paths, or paths with their text) and return the folder."""

    def function(*names: str, **texts: str) -> Path:
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        return tmp_path

    return function


def _found(paths, root, exclude=()):
    return [path.relative_to(root).as_posix() for path in discover(paths, exclude)]


def test_a_folder_is_walked_for_python_files(make):
    root = make("b.py", "a.py", "pkg/__init__.py", "pkg/c.py", "notes.txt", "pkg/data.pyi")
    assert _found([root], root) == ["a.py", "b.py", "pkg/__init__.py", "pkg/c.py"]


@pytest.mark.parametrize(
    "folder",
    [".hidden", "__pycache__", ".venv", "venv", "node_modules", "build", "dist", "site-packages", "{{ name }}"],
)
def test_folders_that_hold_nobodys_source_are_skipped_unless_named(make, folder):
    root = make("a.py", f"{folder}/pkg/b.py")
    assert _found([root], root) == ["a.py"]
    assert _found([root / folder], root) == [f"{folder}/pkg/b.py"]
    assert _found([root / folder / "pkg"], root) == [f"{folder}/pkg/b.py"]


def test_what_macos_puts_beside_files_is_no_source(make):
    root = make("a.py", "._a.py", "._b.py")
    (root / "._a.py").write_bytes(b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X")
    assert _found([root], root) == ["._b.py", "a.py"]
    assert _found([root / "._a.py"], root) == ["._a.py"]


def test_a_named_file_is_always_taken_and_each_file_once(make):
    root = make("a.py", "script", ".hidden/b.py")
    paths = [root / "script", root / ".hidden" / "b.py", root, root / "a.py", root]
    assert _found(paths, root, ["a.py"]) == [".hidden/b.py", "a.py", "script"]


def test_gitignore_is_honoured(make):
    root = make(".git/HEAD", "a.py", "gen/b.py", "pkg/c.py", "pkg/kept.py", "pkg/deep/d_pb2.py")
    (root / ".gitignore").write_text("gen/\n*_pb2.py\n/pkg/c.py\nkept.py\n")
    (root / "pkg" / ".gitignore").write_text("!kept.py\n")
    assert _found([root], root) == ["a.py", "pkg/kept.py"]
    assert _found([root / "pkg"], root) == ["pkg/kept.py"]


def test_a_named_folder_is_walked_though_it_is_ignored(make):
    root = make(".git/HEAD", "env/lib/pkg/a.py")
    (root / ".gitignore").write_text("*\n")
    assert _found([root / "env" / "lib" / "pkg"], root) == ["env/lib/pkg/a.py"]


def test_gitignore_files_outside_of_a_repository_do_not_count(make):
    root = make("work/repo/.git/HEAD", "work/repo/a.py")
    (root / "work" / ".gitignore").write_text("*\n")
    assert _found([root / "work" / "repo"], root) == ["work/repo/a.py"]


def test_exclude_patterns(make, monkeypatch):
    root = make("a.py", "tests/b.py", "pkg/conftest.py", "pkg/c.py")
    assert _found([root], root, ["tests/", "conftest.py"]) == ["a.py", "pkg/c.py"]
    monkeypatch.chdir(root)
    assert _found([root / "pkg"], root, ["pkg/c.py"]) == ["pkg/conftest.py"]


def test_named_files_are_taken_unless_exclude_is_forced(make, monkeypatch):
    root = make("a.py", "tests/b.py")
    monkeypatch.chdir(root)
    named = [root / "a.py", root / "tests" / "b.py"]
    assert _found(named, root, ["tests/"]) == ["a.py", "tests/b.py"]
    assert discover(named, ["tests/"], named_too=True) == [root / "a.py"]


def test_symbolic_links_do_not_loop_nor_double(make):
    root = make("pkg/a.py")
    os.symlink(root / "pkg", root / "pkg" / "again")
    os.symlink(root / "pkg" / "a.py", root / "pkg" / "b.py")
    os.symlink(root / "pkg" / "a.py", root / "pkg" / "A.py")  # comes before the file's own name
    os.symlink(root / "nowhere", root / "pkg" / "gone.py")
    assert _found([root], root) == ["pkg/a.py"]


def test_paths_are_shown_as_they_were_given(make, monkeypatch):
    monkeypatch.chdir(make("pkg/a.py"))
    assert discover([Path("pkg")]) == [Path("pkg/a.py")]


NAMES = {
    "a script": (["train.py"], "train.py", "", "train"),
    "a package": (["pkg/__init__.py", "pkg/a.py"], "pkg/a.py", "", "pkg.a"),
    "a package itself": (["pkg/__init__.py"], "pkg/__init__.py", "", "pkg"),
    "its main module": (["pkg/__init__.py", "pkg/__main__.py"], "pkg/__main__.py", "", "pkg.__main__"),
    "a subpackage": (["pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/a.py"], "pkg/sub/a.py", "", "pkg.sub.a"),
    "src layout": (["pyproject.toml", "src/pkg/__init__.py", "src/pkg/a.py"], "src/pkg/a.py", "src", "pkg.a"),
    "a namespace in src": (["pyproject.toml", "src/ns/pkg/__init__.py"], "src/ns/pkg/__init__.py", "src", "ns.pkg"),
    "a plain module in src": (["pyproject.toml", "src/a.py"], "src/a.py", "src", "a"),
    "src without a project": (["src/pkg/a.py"], "src/pkg/a.py", "src/pkg", "a"),
    "installed": (["site-packages/ns/pkg/__init__.py"], "site-packages/ns/pkg/__init__.py", "site-packages", "ns.pkg"),
    "a folder of examples": (["setup.py", "examples/pkg/__init__.py"], "examples/pkg/__init__.py", "examples", "pkg"),
    "a folder that cannot be imported": (["my-models/a.py"], "my-models/a.py", "my-models", "a"),
    "a package in one": (["my-models/pkg/__init__.py"], "my-models/pkg/__init__.py", "my-models", "pkg"),
}


@pytest.mark.parametrize(("files", "file", "root", "dotted"), NAMES.values(), ids=NAMES)
def test_module_names(make, files, file, root, dotted):
    folder = make(*files)
    assert module_name(folder / file) == (folder / root, dotted)


def test_a_namespace_that_its_modules_import(make):
    root = make("pyproject.toml", "ns/pkg/__init__.py", "ns/pkg/a.py", "ns/pkg/b.py")
    (root / "ns" / "pkg" / "b.py").write_text("from ns.pkg import a\n")
    assert module_name(root / "ns" / "pkg" / "a.py") == (root, "ns.pkg.a")


def test_a_folder_without_init_whose_modules_import_each_other_relatively(make):
    root = make("models/a.py", "models/b.py")
    (root / "models" / "b.py").write_text("from . import a\n")
    assert module_name(root / "models" / "a.py") == (root, "models.a")


def test_relative_paths(make, monkeypatch):
    root = make("pkg/__init__.py", "pkg/a.py")
    monkeypatch.chdir(root / "pkg")
    assert module_name(Path("a.py")) == (root, "pkg.a")


def test_exclude_is_relative_to_the_configurations_folder(tmp_path: Path) -> None:
    for name in ("pkg/legacy/old.py", "pkg/new.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert discover([tmp_path / "pkg"], ["pkg/legacy/"], tmp_path) == [tmp_path / "pkg" / "new.py"]


def _unread(paths):
    unread = {}
    found = discover(paths, unread=unread)
    return [path.name for path in found], {Path(path).name: reason for path, reason in unread.items()}


def test_links_that_lead_to_themselves_are_passed_over(make):
    root = make("a.py", "pkg/b.py")
    links = {"one": "two", "two": "one", "self.py": "self.py", "pkg/up": "..", "gone.py": "nowhere"}
    for name, target in links.items():
        (root / name).symlink_to(target)
    found, unread = _unread([root])
    assert found == ["a.py", "b.py"]
    assert unread == {"self.py": "cannot be read: Too many levels of symbolic links"}


def test_a_folder_that_cannot_be_read_is_noted(make, monkeypatch):
    root = make("a.py", "closed/b.py", "open/c.py")
    scandir = os.scandir

    def refuse(folder):
        if str(folder).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    assert _unread([root]) == (["a.py", "c.py"], {"closed": "cannot be read: Permission denied"})


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta/history"])
def test_environments_are_passed_over_whatever_they_are_called_unless_named(make, mark):
    root = make("a.py", f"envs/jax/{mark}", "envs/jax/lib/python3.12/code.py", "envs/other/b.py")
    assert _found([root], root) == ["a.py", "envs/other/b.py"]
    assert _found([root / "envs" / "jax"], root) == ["envs/jax/lib/python3.12/code.py"]
