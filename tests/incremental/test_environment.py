"""What a result depends on besides the project's files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shapecheck.incremental.environment_key import environment


def test_installing_a_package_another_interpreter_and_a_variable_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = environment(sys.executable, [str(tmp_path)])
    assert environment(sys.executable, [str(tmp_path)]) == first
    (tmp_path / "jax-9.dist-info").mkdir()
    os.utime(tmp_path, ns=(1, 1))
    assert environment(sys.executable, [str(tmp_path)]) != first
    assert environment("/bin/sh", []) != environment(sys.executable, [])
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    assert environment(sys.executable, [])["JAX_ENABLE_X64"] == "1"
    before = environment(sys.executable, [])
    monkeypatch.setenv("PYTHONHASHSEED", "6640")
    assert environment(sys.executable, []) == before, "no worker hears of it"


def test_our_own_bytecode_makes_no_difference() -> None:
    program = "from shapecheck.incremental.environment_key import environment; print(environment('', [])['shapecheck'])"
    told = [
        subprocess.run([sys.executable, *flags, "-c", program], capture_output=True, text=True, check=True).stdout
        for flags in (["-B"], [], ["-B"])
    ]
    assert len(set(told)) == 1
