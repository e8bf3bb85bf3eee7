"""A project in one piece: the same for the same files, and what is no source stays behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shapecheck.files import project_archive
from shapecheck.files.path_marks import PathMarks
from shapecheck.files.project_archive import ArchiveError, has_files, hashes_of, pack_project, unpack_project


def project(folder: Path) -> Path:
    for name in ("pkg/a.py", "pkg/data.json", ".git/config", "env/pyvenv.cfg", "env/lib/x.py", "pkg/__pycache__/a.pyc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_what_is_packed_comes_out_again_without_environments_and_bytecode(tmp_path: Path) -> None:
    data = pack_project(str(project(tmp_path / "one")))
    os.utime(project(tmp_path / "two") / "pkg" / "a.py", (1, 1))
    assert pack_project(str(tmp_path / "two")) == data, "when a file was written is of no matter"
    there = Path(unpack_project(data, str(tmp_path / "there" / "deep")))
    files = sorted(file.relative_to(there).as_posix() for file in there.rglob("*") if file.is_file())
    assert files == ["pkg/a.py", "pkg/data.json"]
    assert unpack_project(data, str(tmp_path / "there" / "deep")) == str(there)
    assert [each.name for each in there.parent.iterdir()] == [there.name]


def test_a_folder_is_the_same_only_with_the_same_contents(tmp_path: Path) -> None:
    folder = project(tmp_path / "one")
    hashes = hashes_of(iter([str(folder / "pkg" / "a.py"), "/elsewhere/b.py"]), str(folder))
    assert list(hashes) == [os.path.join("pkg", "a.py")]
    assert has_files(str(folder), hashes)
    assert not has_files(str(tmp_path), hashes)
    (folder / "pkg" / "a.py").write_text("other")
    assert not has_files(str(folder), hashes)


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_archive, "_LARGEST_ALL", 10)
    with pytest.raises(ArchiveError, match="the same path"):
        pack_project(str(project(tmp_path)))


def test_marks_stand_for_whole_folders(tmp_path: Path) -> None:
    here, there = PathMarks({"<p>": "/home/me/net"}), PathMarks({"<p>": 'C:\\a "b"'})
    marked = here.to_marks('["/home/me/net/a.py", "/home/me/net", "/home/me/net2"]')
    assert marked == '["<p>/a.py", "<p>", "/home/me/net2"]'
    assert there.to_folders(marked) == '["C:\\\\a \\"b\\"/a.py", "C:\\\\a \\"b\\"", "/home/me/net2"]'
    assert here.to_marks('"<p>"') is None


def test_a_folder_in_another_one_has_its_own_mark() -> None:
    marks = PathMarks({"<project>": "/home/me/net", "<scratch>": "/home/me/net/tmp/x"})
    assert marks.to_marks('["/home/me/net/a.py", "/home/me/net/tmp/x/1"]') == '["<project>/a.py", "<scratch>/1"]'
