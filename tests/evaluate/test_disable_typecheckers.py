"""Run-time checkers stand aside in the worker, from when they are imported."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import shapecheck

SRC = Path(shapecheck.__file__).parents[1]


def run(source: str, folder: Path) -> str:
    """What a process prints that has made them stand aside first."""
    begin = "from shapecheck.evaluate.probes.disable_typecheckers import stand_aside\nstand_aside()\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SRC), str(folder)])}
    command = [sys.executable, "-c", begin + textwrap.dedent(source)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_what_nobody_imports_is_not_imported(tmp_path: Path) -> None:
    assert run("import sys\nprint('beartype' in sys.modules)", tmp_path) == "False"


def test_what_is_imported_later_stands_aside(tmp_path: Path) -> None:
    source = """
        from beartype import beartype, BeartypeConf
        from beartype.claw import beartype_this_package

        @beartype
        def plain(n: int) -> str:
            return n

        @beartype(conf=BeartypeConf())
        def configured(n: int) -> str:
            return n

        beartype_this_package()
        print(plain(1), configured(2), beartype.__name__)
        """
    assert run(source, tmp_path) == "1 2 _identity"


def test_what_was_imported_before_stands_aside_too(tmp_path: Path) -> None:
    source = """
        import sys, importlib
        import beartype
        known = beartype.beartype
        beartype.beartype = None
        stand_aside()
        print(known is beartype.beartype, sum(type(each).__name__ == "_TypecheckerFinder" for each in sys.meta_path))
        """
    assert run(source, tmp_path) == "True 1"


def test_other_names_of_such_a_module_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "typeguard.py").write_text(
        "def typechecked(f):\n    raise TypeError\n\n\ndef check_type():\n    return 7\n"
    )
    source = """
        import importlib, typeguard

        @typeguard.typechecked
        def f(n: int) -> str:
            return n

        print(f(3), typeguard.check_type(), typeguard.__spec__.name, type(typeguard.__loader__).__name__)
        """
    assert run(source, tmp_path) == "3 7 typeguard SourceFileLoader"
