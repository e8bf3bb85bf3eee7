"""The file of a test that stands alone: its text, and one run of it by itself in the user's interpreter."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shapecheck.evaluate.leftover_processes import marked_environment, new_mark
from shapecheck.evaluate.scratch_folders import scratch_folder
from shapecheck.worker.messages.target_messages import WrittenCall
from shapecheck.worker.spawn import SpawnedProcess, kill_group

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


_ENDED = b"ended\n"
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


class ReproductionRunner:
    """Runs files of tests, each in a process of its own, in a user's interpreter that imports JAX once for all.

    Use as a context manager. A file may take so many `seconds`.
    """

    def __init__(self, python: str, seconds: float) -> None:
        self.python, self.seconds = python, seconds
        self._process: SpawnedProcess | None = None
        self._exit_stack = contextlib.ExitStack()

    def __enter__(self) -> ReproductionRunner:
        self._folder = Path(self._exit_stack.enter_context(scratch_folder()))
        self._exit_stack.callback(self._end)
        return self

    def __exit__(self, *exc: object) -> None:
        self._exit_stack.close()

    def run(self, text: str) -> ReproductionOutcome:
        """Run the tests of a file with this text."""
        names = "test_reproduction.py", "answer.json", "output.txt"
        file, answer_file, output = (self._folder / name for name in names)
        file.write_text(text, encoding="utf-8")
        for left in (answer_file, output):
            left.unlink(missing_ok=True)
        try:
            if not self._has_run([str(file), str(answer_file), str(output)]):
                self._end()
                text = f"it took longer than {self.seconds:g} seconds"
                return ReproductionOutcome(error="no end", text=text, phase="")
            answer = json.loads(answer_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            said = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
            last = said.strip().rpartition("\n")[2]
            return ReproductionOutcome(error="the end of the process", text=last, phase="")
        lines = tuple((str(path), int(line)) for path, line in answer.pop("lines", ()))
        return ReproductionOutcome(**{"text": "", **answer}, lines=lines)

    def _has_run(self, request: list[str]) -> bool:
        """Whether a request came to an end in time. Raises OSError if there is nobody who takes it."""
        if self._process is not None and self._process.poll() is not None:
            self._end()
        self._process = self._process or self._start()
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:  # both were asked for
            raise OSError("the process has no pipes")
        stdin.write(json.dumps(request).encode() + b"\n")
        stdin.flush()
        # It says so in a line, or ends itself where nothing can be forked. What the interpreter prints at its start, as
        # a `sitecustomize` may, is passed over.
        answered = threading.Thread(target=lambda: next((each for each in stdout if each == _ENDED), None), daemon=True)
        answered.start()
        answered.join(self.seconds)
        return not answered.is_alive()

    def _start(self) -> SpawnedProcess:
        mark = new_mark()
        process = SpawnedProcess(
            [self.python, "-B", str(_RUNNER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **marked_environment(mark), "JAX_PLATFORMS": "cpu", "SHAPECHECK_PYTHON": sys.executable},
            start_new_session=True,
        )
        process.mark = mark
        return process

    def _end(self) -> None:
        if self._process is not None:
            kill_group(self._process)
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._process = None
