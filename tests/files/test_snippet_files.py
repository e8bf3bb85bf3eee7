"""Which documents and scripts of a project may show how it is called."""

from __future__ import annotations

from pathlib import Path

from shapecheck.files import find_snippet_files


def test_the_readme_comes_first_then_docs_and_examples(tmp_path: Path) -> None:
    files = [
        "README.md",
        "CHANGES.rst",
        "docs/a.md",
        "docs/deep/b.rst",
        "docs/c.ipynb",
        "docs/conf.py",
        "docs/_build/d.md",
        "docs/.hidden/e.md",
        "examples/f.py",
        "examples/g.txt",
        "other/h.py",
    ]
    for name in [*files, "pkg/model.py"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("_build/\n")
    found = find_snippet_files([tmp_path / "pkg" / "model.py"], ["docs/deep"], tmp_path)
    names = [file.relative_to(tmp_path).as_posix() for file in found]
    assert names == ["README.md", "CHANGES.rst", "docs/a.md", "docs/c.ipynb", "examples/f.py"]


def test_what_is_installed_has_none(tmp_path: Path) -> None:
    (tmp_path / "site-packages" / "pkg").mkdir(parents=True)
    (tmp_path / "site-packages" / "README.md").touch()
    assert find_snippet_files([tmp_path / "site-packages" / "pkg" / "model.py"]) == []
