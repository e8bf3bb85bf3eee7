"""What a failed program was doing, on disk: the calls that it went through, with the arrays that they were given.

Nothing is pickled: a call is its function by name and its arguments as plain data, the arrays lie beside it in a file
of NumPy's.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType, TracebackType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.stages.value_taps import HostArray

Expression = dict[str, object]
"""An argument as plain data: its `kind`, and what that needs."""

NAME = "failure"
_MOST_BYTES = 2**30  # of arrays
_MOST_CALLS = 8
_DEPTH = 32


class UnsavedError(Exception):
    """A value is none that can be saved."""


class FailureSaver:
    """Writes the innermost calls of the user's that an error came through to a folder, from the inside out."""

    def __init__(self, folder: str, is_own: Callable[[str], bool]) -> None:
        self._folder, self._is_own = folder, is_own
        self._arrays: dict[str, HostArray] = {}
        self._places: dict[int, tuple[object, str]] = {}
        self._bytes = 0

    def save(self, error: BaseException, trace: TracebackType | None) -> str:
        """Save all that can be; the file that says what, or "" if no call could be saved."""
        frames = [(frame, line) for frame, line in traceback.walk_tb(trace) if self._is_own(frame.f_code.co_filename)]
        calls: list[object] = []
        for frame, line in frames[::-1]:
            for find in (self._calls_on_line, self._call_of_frame):
                if len(calls) < _MOST_CALLS:
                    calls += find(frame, line)
        if not calls:
            return ""
        os.makedirs(self._folder, exist_ok=True)
        place = frames[-1] if frames else None
        record = {
            "version": 1,
            "error": type(error).__name__,
            "text": str(error),
            "code": getattr(error, "code", ""),
            "path": os.path.abspath(getattr(error, "path", "") or (place[0].f_code.co_filename if place else "")),
            "line": getattr(error, "line", 0) or (place[1] if place else 0),
            "calls": calls,
        }
        with open(os.path.join(self._folder, f"{NAME}.npz"), "wb") as stream:
            np.savez(stream, allow_pickle=False, **self._arrays)
        file = os.path.join(self._folder, f"{NAME}.json")
        with open(file, "w", encoding="utf-8") as text:
            json.dump(record, text, indent=1)
        return file

    def _call_of_frame(self, frame: FrameType, line: int) -> Iterator[Expression]:
        """The call that a frame is of, if its function can be imported, and its arguments saved."""
        code = frame.f_code
        function = _function_of(frame)
        if function is None:
            return
        try:
            names = code.co_varnames[: code.co_argcount]
            only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
            arguments = [self._expression(frame.f_locals[name]) for name in names]
            if code.co_flags & inspect.CO_VARARGS:
                rest = frame.f_locals[code.co_varnames[code.co_argcount + code.co_kwonlyargcount]]
                arguments += [self._expression(part) for part in rest]
            named = {name: self._expression(frame.f_locals[name]) for name in only}
        except (UnsavedError, KeyError):
            return
        yield {**function, "args": arguments, "kwargs": named, "names": [*names]}

    def _calls_on_line(self, frame: FrameType, line: int) -> Iterator[Expression]:
        """The calls on the line that a frame is at: of compiled functions, which have no frames of their own."""
        for call in _calls_around(frame, line):
            try:
                called = _callee(call.func, frame)
                if not self._is_own(str(getattr(sys.modules.get(str(called.__module__)), "__file__", ""))):
                    continue  # only the user's own functions are called again: others may write, or remove
                if type(called).__module__ != called.__module__:
                    function, owner = _importable(called), []
                else:  # a model
                    function, owner = _importable(type(called)), [self._expression(called)]
                    function["path"], called = f"{function['path']}.__call__", type(called).__call__
                arguments = [*owner, *(self._expression(_value(each, frame)) for each in call.args)]
                named = {str(each.arg): self._expression(_value(each.value, frame)) for each in call.keywords}
            except (UnsavedError, KeyError, AttributeError):
                continue
            try:
                names = list(inspect.signature(called).parameters)[: len(arguments)]
            except (TypeError, ValueError):
                names = []
            yield {**function, "args": arguments, "kwargs": named, "names": names}

    def _expression(self, value: object, depth: int = 0) -> Expression:
        """A value as plain data. Raises UnsavedError for what has no such form."""
        if depth > _DEPTH:
            raise UnsavedError
        if value is None or type(value) in (bool, int, float, complex, str, bytes):
            return {"kind": "literal", "text": repr(value)}
        if isinstance(value, (jax.Array, np.ndarray, np.generic)):
            return self._array(value)
        if isinstance(value, enum.Enum):
            return {"kind": "name", **_importable(type(value)), "member": value.name}
        if type(value) is list or type(value) is tuple:
            return {"kind": type(value).__name__, "parts": [self._expression(each, depth + 1) for each in value]}
        if type(value) is dict:
            items = [
                [self._expression(key, depth + 1), self._expression(each, depth + 1)] for key, each in value.items()
            ]
            return {"kind": "dict", "parts": items}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._object("named", value, {name: getattr(value, name) for name in value._fields}, depth)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._object("object", value, vars(value), depth)
        return {"kind": "name", **_importable(value)}

    def _object(self, kind: str, value: object, fields: Mapping[str, object], depth: int) -> Expression:
        parts = {name: self._expression(each, depth + 1) for name, each in fields.items()}
        return {"kind": kind, **_importable(type(value)), "parts": parts}

    def _array(self, value: Any) -> Expression:
        if isinstance(value, jax.core.Tracer):
            if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
                return {"kind": "seed", "shape": list(value.shape)}
            self._places.setdefault(id(value), (value, f"s{len(self._places)}"))
            name = self._places[id(value)][1]
            return {"kind": "shape", "name": name, "dtype": value.dtype.name, "shape": list(value.shape)}
        is_key = jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
        dtype = str(value.dtype) if is_key else value.dtype.name
        try:
            array = np.asarray(jax.random.key_data(value) if is_key else value)
        except Exception as error:  # donated, or of a computation that has failed
            raise UnsavedError from error
        if array.dtype.kind not in "biufc":  # NumPy's files have no bfloat16: the same numbers as float32
            array = array.astype(np.float32)
        kind = "key" if is_key else "array"
        return {"kind": kind, "name": self._keep(value, array), "dtype": dtype, "shape": list(value.shape)}

    def _keep(self, value: object, array: HostArray) -> str:
        known = self._places.get(id(value))
        if known is not None:
            return known[1]
        self._bytes += array.nbytes
        if self._bytes > _MOST_BYTES:
            raise UnsavedError
        name = f"a{len(self._arrays)}"
        self._arrays[name] = array
        self._places[id(value)] = value, name
        return name


def _function_of(frame: FrameType) -> Expression | None:
    """The function of a frame by name, if it can be imported by that."""
    code = frame.f_code
    module = _module_name(str(frame.f_globals.get("__name__", "")))
    for path, value in _functions(frame.f_globals):
        if _code_of(value) is code:
            return {"module": module, "path": path}
    return None


def _functions(names: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The functions of a module, and those of its classes."""
    for name, value in list(names.items()):
        yield name, value
        if isinstance(value, type) and value.__module__ == names.get("__name__"):
            yield from ((f"{name}.{part}", each) for part, each in list(vars(value).items()))


def _code_of(value: object) -> CodeType | None:
    """The code of a function, of whatever wraps it."""
    for _ in range(_DEPTH):
        inner = getattr(value, "__wrapped__", None) or getattr(value, "__func__", None)
        if inner is None:
            break
        value = inner
    method = getattr(value, "method", None)  # of Equinox's wrapped methods
    code = getattr(value, "__code__", None) or getattr(method, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _importable(value: object) -> Expression:
    """What can be imported, by its module and name. Raises UnsavedError for anything else."""
    module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    found: object = sys.modules.get(str(module))
    if module is None or path is None or found is None:
        raise UnsavedError
    for part in str(path).split("."):
        found = getattr(found, part, None)
    if found is not value:
        raise UnsavedError
    public = _public_module(str(module), str(path), value)
    return {"module": public or _module_name(str(module)), "path": str(path)}


def _is_importable(value: object) -> bool:
    try:
        return bool(_importable(value))
    except UnsavedError:
        return False


def _public_module(module: str, path: str, value: object) -> str:
    """The package that shows what a private module of its own defines; "" if none does."""
    parts = module.split(".")
    if not any(part.startswith("_") for part in parts) or module == "__main__":
        return ""
    around = [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
    shown = [
        name for name in (*around, *(f"{parts[0]}.{each}" for each in ("nn", "numpy", "random"))) if "._" not in name
    ]
    return next((name for name in shown if getattr(sys.modules.get(name), path, None) is value), "")


def _module_name(name: str) -> str:
    """A module as a test imports it: that of a script by its file."""
    if name != "__main__":
        return name
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    file = str(getattr(sys.modules["__main__"], "__file__", ""))
    return str(spec.name) if spec is not None else os.path.splitext(os.path.basename(file))[0]


def _calls_around(frame: FrameType, line: int) -> Iterator[ast.Call]:
    """The calls in the source of a frame that its line belongs to, inner ones first."""
    try:
        with open(frame.f_code.co_filename, "rb") as stream:
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.lineno <= line <= (n.end_lineno or n.lineno)]
    yield from sorted(found, key=lambda node: (node.end_lineno or 0) - node.lineno)


def _callee(node: ast.expr, frame: FrameType) -> Any:
    """What a call calls, without what compiles it: in `jax.jit(f)(x)` and `g = jax.jit(f); g(x)` it is `f`."""
    compiling = isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("jit", "filter_jit")
    if isinstance(node, ast.Call) and compiling and node.args:
        return _callee(node.args[0], frame)
    value = _value(node, frame)
    is_compiled = hasattr(value, "lower") and hasattr(value, "__wrapped__")
    return value.__wrapped__ if is_compiled and not _is_importable(value) else value


def _value(node: ast.expr, frame: FrameType) -> Any:
    """What names, attributes of them, and constants mean in a frame: nothing is called, nothing evaluated."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals):
            if node.id in names:
                return names[node.id]
        raise UnsavedError
    if isinstance(node, ast.Attribute):
        holder = _value(node.value, frame)
        if node.attr in getattr(holder, "__dict__", {}):
            return holder.__dict__[node.attr]
        return inspect.getattr_static(holder, node.attr)
    raise UnsavedError
