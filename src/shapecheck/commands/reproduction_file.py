"""The file of a test that stands alone: its text, and one run of it by itself in the user's interpreter."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shapecheck.worker.messages.target_messages import WrittenCall

_WIDE = 110
_LISTEN = (
    "said = []  # of other claims too, which fail before this one",
    "handler = logging.Handler()",
    "handler.emit = lambda record: said.append(record.getMessage())",
    "logging.getLogger('shapecheck').addHandler(handler)",
)


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What a test is made of: what goes wrong, and where; the folder that `call` imports from; the module whose claims
    are `checked` while it runs, "" if the program itself raises. Fields of classes are checked only if it is `hooked`
    when it is imported; with `numerics`, values are looked at in place of claims. A `helper` is a function of its own.
    Where other claims fail first, the test goes on, and asserts that what is `said` of this one is not. `setting` is a
    context of JAX's in which the program ran.
    """

    what: str
    place: str
    root: str
    call: WrittenCall
    checked: str = ""
    hooked: bool = False
    numerics: bool = False
    helper: str = ""
    said: str = ""
    setting: str = ""


def render(made: Reproduction) -> str:
    """The file."""
    return "\n".join(_lines(made)) + "\n"


def _lines(made: Reproduction) -> Iterator[str]:
    body = [*made.call.lines, made.call.call]
    text = "\n".join([*body, made.setting])
    title = textwrap.wrap(f"{made.place}: {made.what}".replace("\\", "\\\\").replace('"""', "'''"), _WIDE)
    sizes = ", ".join(f"{name}={size}" for name, size in sorted(made.call.sizes.items()))
    smallest = f" The sizes are the smallest that show it: {sizes}." if sizes else ""
    yield from (
        f'"""{title[0]}',
        *title[1:],
        "",
        f"It fails until the claim or the code is right.{smallest}",
        '"""',
        "",
    )
    if made.said:
        yield "import logging"
    yield "import sys"
    if "Path(" in text:
        yield "from pathlib import Path"
    yield ""
    yield from (f"import {name}" for name in _imports(text))
    if made.checked:
        yield "import shapecheck"
    yield ""
    if made.root:
        yield f"sys.path.insert(0, {made.root!r})"
    package = made.checked.partition(".")[0]
    if made.hooked:
        yield f"shapecheck.install_import_hook({package!r})  # holds each value against its claims"
    yield ""
    yield from (f"from {module} import {', '.join(names)}  # noqa: E402" for module, names in made.call.imports)
    yield from ("", *made.helper.splitlines()) if made.helper else ()
    path, _, line = made.place.rpartition(":")
    yield from ("", "", f"def test_{re.sub(r'[^0-9a-zA-Z]+', '_', Path(path).stem)}_line_{line}():")
    if made.checked and not made.hooked:
        options = ", shapes=False, numerics='outputs'" if made.numerics else ""
        if made.said:
            yield from (f"    {line}" for line in _LISTEN)
            options = ", on_failure='warn'"
        what = "looks for NaN and infinity" if made.numerics else "holds each value against its claims"
        yield f"    with shapecheck.runtime_checks({package!r}{options}):  # {what}"
        body = [f"    {line}" for line in body]
    if made.setting:
        yield f"    with {made.setting}:  # as in the run that failed"
        body = [f"    {line}" for line in body]
    yield from (f"    {line}" for line in body)
    if made.said:
        yield f"    found = [text for text in said if {made.said!r} in text]"
        yield "    assert not found, found[0]"


def _imports(text: str) -> Iterator[str]:
    if re.search(r"\bjax\.", text):
        yield "jax"
    if re.search(r"\bjnp\.", text):
        yield "jax.numpy as jnp"
    if re.search(r"\bnp\.", text):
        yield "numpy as np"


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
