"""A real editor: Neovim without a window, where there is one, from opening a file to saving it mended."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NEOVIM = shutil.which("nvim")
MODEL = """\
from jaxtyping import Array, Float


def layer(x: Float[Array, "batch d_in"], w: Float[Array, "d_in d_out"]) -> Float[Array, "batch d_out"]:
    y = x @ w  # (batch, d_out)
    return y
"""


@pytest.mark.skipif(NEOVIM is None, reason="there is no Neovim")
def test_a_session_from_opening_to_saving(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.shapecheck]\n")
    file, log = tmp_path / "model.py", tmp_path / "session.log"
    file.write_text(MODEL)
    names = {"SESSION_FILE": file, "SESSION_LOG": log, "SESSION_PYTHON": sys.executable}
    home = {"HOME": tmp_path, "XDG_STATE_HOME": tmp_path / "state", "XDG_DATA_HOME": tmp_path / "data"}
    environment = {**os.environ, **{name: str(value) for name, value in {**names, **home}.items()}}
    script = Path(__file__).with_name("neovim_session.lua")
    command = [NEOVIM or "", "--headless", "-u", "NONE", "-c", f"luafile {script}"]
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    told = log.read_text().splitlines()
    assert ran.returncode == 0, told
    assert told == [
        "opened: verified 4 of 4, version 0",
        "errors: 0",
        "line 5 SC201 comment says (d_out, batch), but y is (batch, d_out)",
        "offered: Write the true shape: (batch, d_out)",
        "saved:     y = x @ w  # (batch, d_out)",
    ]
    assert file.read_text() == MODEL
