"""`shapecheck lsp`: how it begins and ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def lsp(*before: str) -> subprocess.CompletedProcess[str]:
    code = f"import sys; {'; '.join(before)}\nfrom shapecheck.cli import main\nsys.exit(main(['lsp', '--stdio']))"
    return subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
    )


def test_it_says_what_it_lacks() -> None:
    done = lsp("sys.modules['pygls'] = None", "sys.modules['pygls.lsp.server'] = None")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'jax-shapecheck[lsp]'" in done.stderr


def test_it_ends_with_its_input() -> None:
    done = lsp("pass")
    assert (done.returncode, done.stdout) == (0, "")


def test_only_the_server_needs_what_it_is_made_with() -> None:
    code = "import sys, shapecheck.cli; shapecheck.cli.main(['lsp', '--help']); print('pygls' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert "inlayHints" in done.stdout
    assert done.stdout.endswith("False\n")


def test_the_extension_says_what_the_server_takes() -> None:
    text = (Path(__file__).parents[2] / "src/shapecheck/editor/vscode/extension.js").read_text()
    from shapecheck.editor.language_server import STATUS, ServerSettings

    assert f'"{STATUS}"' in text
    given = {"inlayHints": True, "debounce": 10, "python": "x"}
    assert ServerSettings.of_json(given) == ServerSettings(inlay_hints=True, debounce=0.01, python="x")
    assert all(f"{name}:" in text for name in given)
    assert len(text.splitlines()) < 150
