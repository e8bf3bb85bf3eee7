"""What a file imports from its own folder, or one around it, is found although its package is what stands on the path.

So Python finds it when the file is run as a script.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load

REPOSITORY = {
    "pkg/__init__.py": "",
    "pkg/gpt.py": """
from layers import turned
class GPT:
    pass
def f(x):
    \"\"\"x: (b, t, d).\"\"\"
    y = x.sum(-1)  # (b, t)
    return turned(y)
""",
    "pkg/layers.py": "def turned(y):\n    return y.T\n",
    "pkg/train.py": """
import nowhere
from gpt import GPT, f
from models.deep import g
from pkg.gpt import GPT as Same
assert GPT is Same  # or a model of one is none of the other
def train(x):
    \"\"\"x: (b, t, d).\"\"\"
    z = f(x)  # (t, b)
    w = g(x)  # (b, t, d)
    return z
""",
    "pkg/models/deep.py": """
import layers
def g(x):
    return layers.turned(x)
""",
    "other/__init__.py": "",
    "other/gpt.py": "def f(x):\n    return x.sum(0)\n",
    "other/train.py": """
from gpt import f
def train(x):
    \"\"\"x: (b, t, d).\"\"\"
    z = f(x)  # (t, d)
    return z
""",
    # what has the name of another package, and imports that itself: a file, and a folder
    "pkg/nowhere.py": "import nowhere\n",
    "pkg/absent/__init__.py": "",
    "pkg/absent/layers.py": "from absent import tensor\n",
    # who guards an import has something else where the package is absent
    "pkg/optional.py": "VALUE = 1\n",
    "pkg/guards.py": """
import absent
try:
    import optional
    scale = optional.SCALE
except ImportError:
    scale = 2
def scaled(x):
    \"\"\"x: (b, t).\"\"\"
    return scale * x.T  # (t, b)
""",
}


@pytest.mark.parametrize("asked", [["."], ["pkg/train.py"]])
def test_modules_beside_the_importing_file_are_found(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, REPOSITORY)
    monkeypatch.chdir(tmp_path)
    config = replace(load([]), cache=False)
    report = check([Path(each) for each in asked], config)
    found = [(each.path, each.span.line, each.code) for each in report.findings]
    also = [("pkg/absent/layers.py", 1, "SC303"), ("pkg/guards.py", 2, "SC303"), ("pkg/nowhere.py", 1, "SC303")]
    expected = [("pkg/train.py", 2, "SC303"), ("pkg/train.py", 10, "SC201")]
    assert [each for each in found if each not in also] == expected
    assert [each.path for each in report.unreached] == []


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
