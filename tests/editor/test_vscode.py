"""The extension for VS Code, run by node with stand-ins for the editor; the server and the protocol are real."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shapecheck

NODE = shutil.which("node")
EXTENSION = Path(shapecheck.__file__).parent / "editor" / "vscode" / "extension.js"
MODEL = """\
from jaxtyping import Array, Float


def layer(x: Float[Array, "batch d_in"], w: Float[Array, "d_in d_out"]) -> Float[Array, "batch d_out"]:
    y = x @ w  # (batch, d_out)
    z = y * 2
    return z
"""

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node")


def session(folder: Path, command: str) -> list[str]:
    """What a session with the extension says, line by line."""
    (folder / "pyproject.toml").write_text("[tool.shapecheck]\n")
    file = folder / "model.py"
    file.write_text(MODEL)
    script = Path(__file__).with_name("vscode_session.js")
    ran = subprocess.run(
        [NODE or "", script, EXTENSION, file, command],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": ""},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_a_session_from_opening_to_the_end(tmp_path: Path) -> None:
    command = tmp_path / "shapecheck"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shapecheck "$@"\n')
    command.chmod(0o755)
    assert session(tmp_path, str(command)) == [
        "status: $(symbol-ruler) verified 4 of 4",
        "diagnostic: SC201 5 comment says (d_out, batch), but y is (batch, d_out)",
        'bound: d_out, from w: Float[Array, "d_in d_out"]; batch, from x: Float[Array, "batch d_in"]',
        "offered: Write the true shape: (batch, d_out)",
        "asked to look again: true",
        "hints: : float32[batch, d_out]",
        "no hints any more",
    ]


def test_a_server_that_is_not_there_is_told_with_the_remedy(tmp_path: Path) -> None:
    (line,) = session(tmp_path, str(tmp_path / "absent"))
    assert line.startswith("error: shapecheck: ")
    assert "absent lsp does not start" in line
    assert line.endswith("Install it with pip install 'jax-shapecheck[lsp]', or set shapecheck.command.")
