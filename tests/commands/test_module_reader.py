"""What is read of a file is kept, as long as nothing that it depends on has changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shapecheck.claims import read_module
from shapecheck.commands import module_reader
from shapecheck.config import load
from shapecheck.incremental.cache_store import Store
from shapecheck.model import Module

FIXTURES = Path(__file__).parents[2] / "fixtures"
MODEL = "from types_ import Act\n\ndef f(x: Act):\n    y = x.T  # (t, b)\n    return y\n"
TYPES = 'from jaxtyping import Array, Float\n\nAct = Float[Array, "b t"]\n'


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Read all files of a folder as a new process would, and tell which of them were really read."""
    monkeypatch.chdir(tmp_path)

    def run() -> tuple[dict[str, Module], list[str]]:
        read: list[str] = []

        def noting(path: str, data: bytes, **options):
            read.append(path)
            return read_module(path, data, **options)

        monkeypatch.setattr(module_reader, "read_module", noting)
        files = sorted(tmp_path.glob("*.py"))
        config = load([tmp_path])
        store = Store(tmp_path / ".shapecheck_cache")
        fresh = module_reader.ModuleReader(config, {file: file.read_bytes() for file in files}, store)
        return {file.name: fresh.read_file(file, file.read_bytes()) for file in files}, read

    return run


def test_a_one_file_edit_reads_one_file(reader, tmp_path: Path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "other.py").write_text("y = f(x)  # (b, t)\n")
    first, read = reader()
    assert read == ["model.py", "other.py"]
    again, read = reader()
    assert (again, read) == (first, [])
    (tmp_path / "other.py").write_text("y = f(x)  # (b, s)\n")
    edited, read = reader()
    assert read == ["other.py"]
    assert edited["model.py"] == first["model.py"]
    assert [claim.spec for claim in edited["other.py"].claims] == ["b s"]


def test_an_alias_that_appears_changes_or_goes_is_read_again(reader, tmp_path: Path):
    (tmp_path / "model.py").write_text(MODEL)

    def specs() -> tuple[list[str], bool]:
        modules, read = reader()
        return [claim.spec for claim in modules["model.py"].claims], "model.py" in read

    assert specs() == (["t b"], True)
    (tmp_path / "types_.py").write_text(TYPES)
    assert specs() == (["b t", "t b"], True)
    assert specs() == (["b t", "t b"], False)
    (tmp_path / "types_.py").write_text(TYPES.replace('"b t"', '"batch t"'))
    assert specs() == (["batch t", "t b"], True)
    (tmp_path / "types_.py").unlink()
    assert specs() == (["t b"], True)


def test_everything_that_is_read_survives_the_cache(reader, tmp_path: Path):
    for number, file in enumerate(sorted(FIXTURES.rglob("*.py"))[::4]):
        (tmp_path / f"m{number}.py").write_bytes(file.read_bytes())
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "deep.py").write_text("y = f(x)  # (b, t)\nz = a" + " + a" * 900 + "\n")
    first, _ = reader()
    assert reader() == (first, [])


def test_without_a_candidate_comment_libcst_is_not_loaded():
    program = (
        "import sys\n"
        "from shapecheck.claims import read_module\n"
        "text = 'from jaxtyping import Array, Float\\ny: Float[Array, \"b t\"] = f(x)  # the scores\\n'\n"
        "assert read_module('m.py', text.encode()).claims\n"
        "print('libcst' in sys.modules)\n"
        "assert len(read_module('m.py', (text + 'z = g(y)  # (t, b)\\n').encode()).claims) == 2\n"
        "print('libcst' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nTrue\n"
