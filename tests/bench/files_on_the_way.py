"""How many files of ours run on the way of one request: a comment's way to its finding, a template's, a run's.

    python tests/bench/files_on_the_way.py [-v]

Counted are the files in which a function or method was called, in the command's process and in all that it starts,
while one small program is looked at; what only runs at import (constants, classes) is not.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import shapecheck

PACKAGE = Path(shapecheck.__file__).parent

# Python imports it at the start of each process; each first call in a file of ours is a line in a file.
SITE = """
import os, sys, threading
seen, ours, out = set(), os.environ["COUNT_OURS"], os.environ["COUNT_OUT"]
def profile(frame, event, _):
    code = frame.f_code
    # bodies of modules and classes are not optimised, functions are
    if event == "call" and code.co_flags & 1 and code.co_filename not in seen:
        seen.add(code.co_filename)
        if code.co_filename.startswith(ours):
            with open(out, "a") as file:
                file.write(code.co_filename + "\\n")
sys.setprofile(profile)
threading.setprofile(profile)
"""
MODEL = """
import equinox as eqx
import jax
import jax.numpy as jnp


class Gate(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, size: int, *, key):
        self.linear = eqx.nn.Linear(size, 2 * size, key=key)

    def __call__(self, x):
        h = self.linear(x)  # shape: (size,)
        return h


if __name__ == "__main__":
    print(Gate(3, key=jax.random.PRNGKey(0))(jnp.zeros(3)))
"""
EXAMPLE = """

from shapecheck import example


@example
def gate():
    return Gate(3, key=jax.random.PRNGKey(0)), jnp.zeros(3)
"""
REQUESTS = {
    "a comment's way to its finding": ["check", "model.py", "--no-cache", "--no-tests", "--jobs", "1"],
    "a template": ["template", "model.py:Gate", "--arg", "f32[size]"],
    "run --numerics outputs": ["run", "--warn", "--numerics", "outputs", "model.py"],
}


def files(arguments: list[str]) -> list[str]:
    """The files of ours in which something was called, in the order of their first calls."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "site").mkdir()
        (folder / "site" / "sitecustomize.py").write_text(SITE)
        (folder / "model.py").write_text(MODEL + (EXAMPLE if arguments[0] == "check" else ""))
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder / "site"), str(PACKAGE.parent)]),
            "COUNT_OURS": str(PACKAGE),
            "COUNT_OUT": str(folder / "seen.txt"),
        }
        command = [sys.executable, "-m", "shapecheck", *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return list(dict.fromkeys((folder / "seen.txt").read_text().split("\n")[:-1]))


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-v", "--verbose", action="store_true", help="name the files")
    verbose = parser.parse_args().verbose
    total = sum(1 for _ in PACKAGE.rglob("*.py"))
    for what, arguments in REQUESTS.items():
        found = files(arguments)
        print(f"{len(found):4} of {total} files: {what}")
        for file in found if verbose else ():
            print(f"       {Path(file).relative_to(PACKAGE)}")


if __name__ == "__main__":
    main()
