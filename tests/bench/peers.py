"""Other shape checkers, run over a folder as their users run them: on which lines they find something.

`pip install jaxtyc` and `pip install pyrefly jax-pyrefly-stubs` (Python 3.12) into the environment of this
interpreter, beside JAX and what the checked programs import.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

Found = set[tuple[int, str]]

_JAXTYC: Final = re.compile(r"^(\S+?\.py):(\d+):\d+: error\[([\w-]+)\]", re.MULTILINE)
_PYREFLY: Final = re.compile(r"^\s*ERROR (\S+?\.py):(\d+):.*\[([\w-]+)\]$", re.MULTILINE)
_PYREFLY_CONFIG: Final = 'project-includes = ["**/*.py"]\npython-interpreter-path = "{python}"\n'


def jaxtyc(folder: Path) -> dict[str, Found]:
    """What `jaxtyc check .` calls errors, by file, as (line, rule)."""
    return _errors(_JAXTYC, _output("jaxtyc", "check", ".", cwd=folder))


def pyrefly(folder: Path) -> dict[str, Found]:
    """What `pyrefly check` calls errors, by file. It reads the stubs only beside a configuration, which is written."""
    (folder / "pyrefly.toml").write_text(_PYREFLY_CONFIG.format(python=sys.executable), "utf-8")
    return _errors(_PYREFLY, _output("pyrefly", "check", "--output-format", "min-text", cwd=folder))


PEERS: Final[Mapping[str, Callable[[Path], dict[str, Found]]]] = {"jaxtyc": jaxtyc, "pyrefly": pyrefly}


def _output(program: str, *arguments: str, cwd: Path) -> str:
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def _errors(pattern: re.Pattern[str], text: str) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for path, line, rule in pattern.findall(text):
        found.setdefault(Path(path).as_posix().removeprefix("./"), set()).add((int(line), rule))
    return found
