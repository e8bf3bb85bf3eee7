"""One run of a test by itself, in the user's interpreter, and what became of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_RUNNER = Path(__file__).parents[1] / "runtime" / "run_reproduction.py"


@dataclass(frozen=True, kw_only=True)
class ReproductionOutcome:
    """The class of the error that a test raised, "" if it passed, and its text.

    For a mismatch there is its rule and place; `lines` are those that the error came through, outermost first. What
    was `raised` by the import of the code shows nothing of the call.
    """

    error: str
    text: str
    code: str = ""
    path: str = ""
    line: int = 0
    lines: tuple[tuple[str, int], ...] = ()
    phase: str = "test"

    @property
    def summary(self) -> str:
        """In a line."""
        text = f"raises {self.error}: {self.text}" if self.error else self.text or "raises nothing"
        return text.splitlines()[0]

    def is_mismatch(self, code: str, path: str, line: int) -> bool:
        """Whether a claim's contradiction at this place was raised by the call."""
        place = self.code, self.path, self.line
        return self.phase == "test" and place == (code, os.path.realpath(path), line)


def run_alone(text: str, folder: Path, python: str, seconds: float) -> ReproductionOutcome:
    """Run the tests of a file with this text."""
    file, answer_file = folder / "test_reproduction.py", folder / "answer.json"
    file.write_text(text, encoding="utf-8")
    answer_file.unlink(missing_ok=True)
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "SHAPECHECK_PYTHON": sys.executable}
    try:
        done = subprocess.run(
            [python, "-B", str(_RUNNER), str(file), str(answer_file)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            env=environment,
            check=False,
        )
        answer = json.loads(answer_file.read_text(encoding="utf-8"))
    except subprocess.TimeoutExpired:
        return ReproductionOutcome(error="no end", text=f"it took longer than {seconds:g} seconds", phase="")
    except (OSError, ValueError):
        return ReproductionOutcome(
            error="the end of the process", text=done.stderr.strip().rpartition("\n")[2], phase=""
        )
    lines = tuple((str(path), int(line)) for path, line in answer.pop("lines", ()))
    return ReproductionOutcome(**{"text": "", **answer}, lines=lines)
