"""A failure that a run has saved, as a test that fails alone: the innermost call that still fails, with the least data.

The file is data: names in it must be names, and literals literals, before they become the text of a test.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shapecheck.commands.reproduction_file import Reproduction, ReproductionOutcome, ReproductionRunner, render
from shapecheck.commands.target_request import UnevaluatedError
from shapecheck.config import Config, ConfigError
from shapecheck.files import interpreter, module_name
from shapecheck.worker.messages.target_messages import WrittenCall

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")
_MOST_RUNS = 16
_NOT_FINITE = "NonFinite"
_OF_JAX = "FloatingPointError"  # raised under JAX's own jax_debug_nans and jax_debug_infs
_LONGEST = 60
# In the user's interpreter, for there is NumPy: the arrays that a test needs, cut to what it needs of them.
_CUT = """\
import json, sys
import numpy as np
source, target, parts = json.loads(sys.argv[1])
with np.load(source, allow_pickle=False) as data:
    np.savez(target, **{n: data[n] if p is None else data[n][p[0] : p[1]] for n, p in parts.items()})
"""
_REBUILT = '''
def rebuilt(cls, **fields):
    """An instance with these fields, whatever its constructor does."""
    value = object.__new__(cls)
    for name, each in fields.items():
        object.__setattr__(value, name, each)
    return value
'''

Expression = Mapping[str, Any]
Slices = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class SavedFailure:
    """What a run has saved: the error, where it arose, the calls from the inside out; the arrays are in `data`."""

    error: str
    text: str
    code: str
    path: str
    line: int
    calls: tuple[Expression, ...]
    data: Path

    @property
    def place(self) -> str:
        """As the user knows the file."""
        shown = os.path.relpath(self.path)
        return f"{self.path if shown.startswith(os.pardir) else shown}:{self.line}"


def read_failure(file: Path) -> SavedFailure | None:
    """What a run has saved in a file; None if that is another JSON, or none."""
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
        if "calls" not in read or read.get("version") != 1:
            return None
        names = {name: str(read[name]) for name in ("error", "text", "code", "path")}
        return SavedFailure(**names, line=int(read["line"]), calls=tuple(read["calls"]), data=file.with_suffix(".npz"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def reproduce_failure(saved: SavedFailure, config: Config, output: Path | None) -> str:
    """A test that fails as the run did; its arrays are written beside `output`.

    Raises ConfigError, with what was tried, if no call alone fails so.
    """
    python = interpreter.candidates(str(config.python) if config.python else None, [Path(saved.path)])[0]
    tried = []
    with ReproductionRunner(python, config.timeout) as runner:
        for call in saved.calls:
            attempt = _SavedAttempt(saved, call, runner)
            for has_values in (True,) if saved.error in (_NOT_FINITE, _OF_JAX) else (False, True):
                for checked in (False, True) if saved.error == _NOT_FINITE else (saved.code != "",):
                    form = _Form(has_values=has_values, checked=checked)
                    outcome = attempt.run(form)
                    if attempt.is_shown(outcome, form):
                        return attempt.finish(attempt.shrink(form), output)
            tried.append(f"  {call.get('module')}.{call.get('path')} {outcome.summary}")
    raise UnevaluatedError(
        f"No call alone fails with {saved.error} at {saved.place}. Tried:\n" + "\n".join(tried),
        "Only what can be imported by name, and is given arrays, numbers, tables and classes of fields, can be called.",
    )


@dataclass(frozen=True, kw_only=True)
class _Form:
    """How a call is written: with the arrays' own values, or ones; with shapecheck's checks; which parts of arrays."""

    has_values: bool
    checked: bool
    slices: Slices = field(default_factory=dict)


class _SavedAttempt:
    """One of the calls, in all its forms."""

    def __init__(self, saved: SavedFailure, call: Expression, runner: ReproductionRunner) -> None:
        self._saved, self._call, self._runner = saved, call, runner
        self._runs = 0
        self._root, self._module = module_name(Path(saved.path))

    def run(self, form: _Form) -> ReproductionOutcome:
        return self._runner.run(self._text(form, repr(str(self._saved.data))))

    def is_shown(self, outcome: ReproductionOutcome, form: _Form) -> bool:
        """Whether it is the saved failure: the claim's, values that are not finite, or what its line raised."""
        saved = self._saved
        if saved.error == _NOT_FINITE:
            return outcome.phase == "test" and outcome.error == (_NOT_FINITE if form.checked else "AssertionError")
        if saved.code:
            return outcome.is_mismatch(saved.code, saved.path, saved.line)
        path = os.path.realpath(saved.path)
        own = [line for file, line in outcome.lines if file == path]
        return outcome.phase == "test" and outcome.error == saved.error and own[-1:] == [saved.line]

    def shrink(self, form: _Form) -> _Form:
        """The same with the fewest entries along the axis that most of the call's arrays begin with."""
        arrays = [each for each in self._data_arrays() if each["shape"] and each["shape"][0] > 1]
        for size, _ in Counter(each["shape"][0] for each in arrays).most_common():
            names = [each["name"] for each in arrays if each["shape"][0] == size]
            form = self._shrink_axis(form, names, size)
        return form

    def _shrink_axis(self, form: _Form, names: Sequence[str], size: int) -> _Form:
        """The same with a half of these entries, and a half of that, as long as it fails."""
        begin, end = 0, size
        while end - begin > 1 and self._runs < _MOST_RUNS:
            middle = (begin + end) // 2
            for half in ((begin, middle), (middle, end)):
                self._runs += 1
                smaller = replace(form, slices={**form.slices, **dict.fromkeys(names, half)})
                if self.is_shown(self.run(smaller), smaller):
                    form, (begin, end) = smaller, half
                    break
            else:
                break
        return form

    def finish(self, form: _Form, output: Path | None) -> str:
        """The text of the test; arrays that it needs are written beside it."""
        if output is None or not form.has_values:
            return self._text(form, repr(str(self._saved.data)))
        parts = {name: form.slices.get(name) for name in sorted(self._names(form))}
        target = output.with_suffix(".npz")
        asked = json.dumps([str(self._saved.data), str(target), parts])
        subprocess.run([self._runner.python, "-c", _CUT, asked], check=True, timeout=self._runner.seconds)
        return self._text(replace(form, slices={}), "Path(__file__).with_suffix('.npz')")

    def _names(self, form: _Form) -> set[str]:
        writer = _ExpressionWriter(form)
        for each in (*self._call["args"], *self._call["kwargs"].values()):
            writer.expression(each)
        return writer.used

    def _data_arrays(self) -> Iterator[Expression]:
        """The arrays that the call is given, alone or in containers; not those inside of objects."""
        queue = [*self._call["args"], *self._call["kwargs"].values()]
        while queue:
            each = queue.pop()
            if each["kind"] in ("array", "shape"):
                yield each
            elif each["kind"] in ("list", "tuple"):
                queue += each["parts"]
            elif each["kind"] == "dict":
                queue += [part for _, part in each["parts"]]

    def _text(self, form: _Form, data: str) -> str:
        saved, writer = self._saved, _ExpressionWriter(form)
        names = [*self._call["names"], *[f"argument_{i}" for i in range(len(self._call["args"]))]]
        lines: list[str] = []
        given = [writer.argument(name, each, lines) for name, each in zip(names, self._call["args"], strict=False)]
        given += [f"{_name(n)}={writer.argument(n, each, lines)}" for n, each in self._call["kwargs"].items()]
        call = f"{writer.name(self._call)}({', '.join(given)})"
        if writer.used:
            lines.insert(0, f"data = np.load({data}, allow_pickle=False)")
        if saved.error == _NOT_FINITE and not form.checked:
            lines.append(f"result = {call}")
            lines.append("for leaf in jax.tree_util.tree_leaves(result):")
            lines.append("    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jnp.inexact):")
            call = "        assert jnp.isfinite(leaf).all(), leaf"
        return render(
            Reproduction(
                what=f"{saved.error}: {saved.text.splitlines()[0] if saved.text else ''}",
                place=saved.place,
                root=os.path.abspath(self._root),
                call=WrittenCall(
                    imports=tuple((module, tuple(found)) for module, found in writer.modules.items()),
                    lines=tuple(lines),
                    call=call,
                ),
                checked=self._module if form.checked else "",
                numerics=saved.error == _NOT_FINITE,
                setting=_jax_context(saved),
                helper=_REBUILT if writer.rebuilds else "",
            )
        )


def _jax_context(saved: SavedFailure) -> str:
    """The context in which JAX raises what was saved; "" if it does so in any."""
    if saved.error != _OF_JAX:
        return ""
    return "jax.debug_infs(True)" if "(inf)" in saved.text else "jax.debug_nans(True)"


class _ExpressionWriter:
    """Writes saved arguments as text, and notes what that imports and which arrays it uses."""

    def __init__(self, form: _Form) -> None:
        self._form = form
        self.modules: dict[str, list[str]] = {}
        self.used: set[str] = set()
        self.rebuilds = False

    def argument(self, name: str, value: Expression, lines: list[str]) -> str:
        """An argument: the name of a variable that is defined by a line of its own, or itself if it is short."""
        text = self.expression(value)
        if value["kind"] == "literal" and len(text) < _LONGEST:
            return text
        variable = "model" if name == "self" else _name(name)
        lines.append(f"{variable} = {text}")
        return variable

    def expression(self, value: Expression) -> str:
        """Raises ConfigError for what no run has saved."""
        kind, parts = value["kind"], value.get("parts", ())
        if kind == "literal":
            ast.literal_eval(value["text"])
            return str(value["text"])
        if kind in ("array", "key", "shape", "seed"):
            return self._array(value)
        if kind in ("list", "tuple"):
            inside = ", ".join(map(self.expression, parts))
            return f"[{inside}]" if kind == "list" else f"({inside}{',' if len(parts) == 1 else ''})"
        if kind == "dict":
            return f"{{{', '.join(f'{self.expression(key)}: {self.expression(each)}' for key, each in parts)}}}"
        if kind == "name":
            return self.name(value) + (f".{_name(value['member'])}" if "member" in value else "")
        fields = ", ".join(f"{_name(name)}={self.expression(each)}" for name, each in parts.items())
        if kind == "named":
            return f"{self.name(value)}({fields})"
        self.rebuilds = True
        return f"rebuilt({', '.join(filter(None, [self.name(value), fields]))})"

    def name(self, value: Expression) -> str:
        """What is imported, by its name."""
        module, path = _name(value["module"]), _name(value["path"])
        if module == "builtins":
            return path
        known = self.modules.setdefault(module, [])
        if path.partition(".")[0] not in known:
            known.append(path.partition(".")[0])
        return path

    def _array(self, value: Expression) -> str:
        kind, shape = value["kind"], tuple(map(int, value.get("shape", ())))
        if kind == "seed":
            return f"jax.random.split(jax.random.key(0), {shape})" if shape else "jax.random.key(0)"
        dtype = str(value["dtype"])
        if kind == "shape" or (kind == "array" and not self._form.has_values):
            begin, end = self._form.slices.get(str(value.get("name")), (0, shape[0] if shape else 0))
            shape = (end - begin, *shape[1:]) if shape else ()
            return f"jnp.{'zeros' if 'int' in dtype else 'ones'}({shape}, {dtype!r})"
        name = _name(value["name"])
        self.used.add(name)
        if kind == "key":
            return f"jax.random.wrap_key_data(data[{name!r}])"
        begin, end = self._form.slices.get(name, (0, 0))
        part = f"[{begin}:{end}]" if end else ""
        return f"jnp.asarray(data[{name!r}]{part}, {dtype!r})"


def _name(text: object) -> str:
    """A dotted name. Raises ConfigError for any other text: it would become part of a program."""
    if not isinstance(text, str) or not _NAME.match(text):
        raise ConfigError(f"{text!r} is no name: this file was not written by `shapecheck run --save-failure`")
    return text
