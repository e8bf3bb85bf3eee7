"""Why an evaluation ended: a shape error of JAX, a value that only a real run has, or anything else."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from types import FrameType

import jax
import numpy as np

from shapecheck.evaluate.framework_protocol import loaded_frameworks, packages
from shapecheck.evaluate.inputs.trials.refused_sizes import RefusedComparison, read_refusal
from shapecheck.evaluate.jax_internals import VALUE_WORDS, is_machinery, public_name
from shapecheck.evaluate.own_errors import Trace, frames_of, message_of, tracebacks_of
from shapecheck.evaluate.parse_python import parse_python
from shapecheck.evaluate.probes.attribute_access import own_names, underlying_function
from shapecheck.evaluate.probes.describe_value import describe, is_array
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.probes.stand_ins import named_stand_in
from shapecheck.model import ArrayValue, Failure, Frame
from shapecheck.model.observation import FailureKind

_LIBRARIES = frozenset({"jax", "jaxlib", "numpy", "einops", "opt_einsum", "optax"})
_NO_SUCH_AXIS = "tuple index out of range"  # what JAX's `argmax` says of an axis that an array has not
_SHAPE_WORDS = re.compile(
    r"shape|dimension|broadcast|axis|axes|rank|\bndim\b|size of label|contracting|concatenate|einsum|einops|"
    r"incompatible types for matmul|operand \d|got \d+ and \d+|must (?:be|have) equal|divide evenly|too many indices|"
    rf"unpack|same pytree structure|\b\d-?d\b|{_NO_SUCH_AXIS}",
    re.IGNORECASE,
)
# What NumPy itself says, which raises it in compiled code: the innermost line of Python is the user's.
_OF_NUMPY = re.compile(
    r"operands could not be broadcast together|could not broadcast input array|mismatch in its core dimension"
    r"|shapes \(.*\) and \(.*\) not aligned|array dimensions (?:except for|must)|cannot reshape array of size"
    r"|too many indices for array|shape mismatch: (?:indexing arrays|objects|value array)|boolean index did not match"
    r"|axis -?\d+ is out of bounds for array|all input arrays must have the same shape|axes don't match array"
)
_UNPACKED = re.compile(r"(?:not enough|too many) values to unpack")
# What gives an array of an array: an attribute, or a method that is called.
_KEEPING = frozenset({"T", "mT", "real", "imag", "astype", "reshape", "ravel", "flatten", "transpose", "swapaxes"})
_KEEPING |= {"squeeze", "sum", "mean", "std", "var", "min", "max", "cumsum", "round"}
_OF_KEYWORDS = re.compile(r"unexpected keyword argument|multiple values for (?:keyword )?argument|missing \d+ required")
_NO_ARRAY = re.compile(r"is not a valid JAX type|interpreting argument to .* as an abstract array")
_COMPARES_SHAPES = re.compile(r"\.(?:shape|ndim)\b[^#'\"]*==")
_OF_SHAPE = re.compile(r"=\s*[\w.]+\.shape\s*(?:#.*)?$")
# Devices, and how arrays lie on them: what the machine has, and what arrays that somebody else gives would bring along.
_DEVICES = re.compile(
    r"number of (?:\w+ )?devices|device_count|\d (?:\w+ )*devices?\b|(?:available|local|enough|any) devices|"
    r"device (?:count|assignment)|\bpmap requires at least one argument",
    re.IGNORECASE,
)
_PLACEMENT = re.compile(
    r"\bmesh(?:es)?\b|sharding|\b(?:in|out)_specs\b|RESOURCE_EXHAUSTED|out of memory|unknown backend|"
    r"\bplatforms?\b|\b(?:gpu|tpu|cuda|rocm)\b",
    re.IGNORECASE,
)
# An axis whose size was left out, or an array: a choice of ours, where an argument may be None.
_NO_SIZE = re.compile(r"sequences of concrete values of integer type, got .*\bNone\b|\bshape of None\b")
_TRACED_SIZE = re.compile(
    r"sequences of concrete values of integer type, got .*Trace[dr]\b|parameter \w+ was not hashable: .*Tracer\b"
)
_TRACER = re.compile(r"\b\w*Tracer\b")
_TRACED = re.compile(r"traced array with shape (\S+?)\.?(?:\s|$)")
_ARRAY_LIBRARIES = ("jax", "jaxlib", "numpy")
_LONGEST_LINE = 1000  # characters of one of its lines
_LONGEST_NAME = 100  # characters of an exception's name
_REMEDIES = {
    "MemoryError": " (--memory sets the limit)",
    "SystemExit": ' (guard what shall not run on import with `if __name__ == "__main__":`)',
}
_NOT_THERE = " ({} is to raise AttributeError for what is not there: hasattr() and others pass all else on)"
_MORE_DEVICES = " (XLA_FLAGS=--xla_force_host_platform_device_count=N in the environment lets the checker have N)"
_FOLDER = r"[^\s'\"]*/shapecheck-(?:\d+-\d*-)?[a-z0-9_]{8}(?:/\d+)?/"  # of ours
_TEMPORARY = re.escape(os.path.join(tempfile.gettempdir(), tempfile.gettempprefix()))
_BY_CHANCE = (
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "0x..."),
    (re.compile(_FOLDER + "here/"), ""),  # which stands for the working directory
    (re.compile(_FOLDER + r"temporary/([^\s/'\"]*?)\d*(?=[\s/'\"]|$)"), r"<temporary folder>/\1"),  # pytest counts
    (re.compile(_FOLDER), "<temporary folder>/"),
    (re.compile(rf"(?<![\w/]){_TEMPORARY}[a-z0-9_]{{8}}\b"), "<temporary folder>"),
)
_HOW_TYPES_DIFFER = re.compile(r"so the \w+ do not match\b")  # of the branches of a condition
_ANNOUNCED = 6  # lines that one which ends with a colon may announce
_VALUE_TYPES = frozenset({"InconclusiveDimensionOperation", "UnexpectedDimVar", "NonConcreteBooleanIndexError"})


def explain(error: BaseException, recorder: Recorder) -> Failure:
    """The failure behind `error`, with the deepest line of the user's code that it came through."""
    frames = frames_of(error)
    for file in {frame.f_code.co_filename for frame, _ in frames}:
        recorder.meet(file)
    users = [(f, line) for f, line in frames if f.f_code.co_filename in recorder.paths]
    kind = _kind(error, frames, recorder.paths)
    message = _needs_values(error, frames, recorder.paths) or _gist(error)
    if isinstance(error, AssertionError) and frames and message == "AssertionError":
        message = _assertion(*frames[-1])
    if kind == "other" and users and users[-1] == frames[-1]:
        refused = read_refusal(*users[-1])
        message += refused.behind(message) if refused is not None else ""
    if absent := named_stand_in(message):
        kind, message = "other", f"it needs {absent}, of a package that is not there"
    if isinstance(error, SystemExit):
        message = f"it ends the program (SystemExit: {message})"
    if users and users[-1] == frames[-1] and users[-2:-1] != frames[-2:-1]:
        message += _attribute_hint(error, users[-1][0])
    if not users:
        return Failure(kind=kind, message=message, frame=None)
    frame, line = users[-1]
    arrays = dict(_arrays_on_line(frame, line))
    if (unpacked := _unpacked_array(frame, line)) is not None and _UNPACKED.match(message):
        arrays.update([unpacked])
    if kind == "shape" and any(_is_of_devices(chain, frame) for chain in _chains(frame.f_code.co_filename, line)):
        kind = "other"
    if kind == "shape" and message == _NO_SUCH_AXIS:
        message = f"an array has no such axis ({message})"
    return Failure(
        kind=kind,
        message=message,
        frame=_user_frame(recorder, frame, line),
        operation=_operation(frames, frame, message),
        arrays=tuple((name, text(value)) for name, value in arrays.items()),
    )


def refusal_of(
    error: BaseException, recorder: Recorder, function: Callable[..., object] | None
) -> RefusedComparison | None:
    """The comparison of sizes for which the user's own code raised an error, or chex for it, if that is why.

    `function` is the one that is evaluated: a comparison may be one of its arguments.
    """
    frames = frames_of(error)
    users = [each for each in frames if each[0].f_code.co_filename in recorder.paths]
    by_chex = bool(users) and isinstance(error, AssertionError) and _is_of_chex(frames[-1][0])
    is_users = by_chex or (bool(users) and users[-1] == frames[-1])
    if not is_users or _kind(error, frames, recorder.paths) != "other":
        return None
    code = getattr(underlying_function(function), "__code__", None)
    entry = next((frame for frame, _ in frames if frame.f_code is code), None)
    return read_refusal(*users[-1], entry, by_chex=by_chex)


def _is_of_chex(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "chex"


def trace_of(error: BaseException, recorder: Recorder) -> Trace:
    """Where in the user's code an error came through, outermost first."""
    steps = (each for each in tracebacks_of(error) if each.tb_frame.f_code.co_filename in recorder.paths)
    return tuple((each.tb_lineno, each.tb_lasti) for each in steps)


def _assertion(frame: FrameType, line: int) -> str:
    """What a bare `assert` says: its own text."""
    text = linecache.getline(frame.f_code.co_filename, line).strip()
    return f"AssertionError: {text}" if text.startswith("assert ") else "AssertionError"


def kind_of(error: BaseException) -> str:
    """As in `Failure.kind`, where it does not matter whose code raised it."""
    return str(_kind(error, frames_of(error), {}))


def text(value: ArrayValue) -> str:
    """`float32[b, 48]`."""
    return f"{value.dtype}[{', '.join(value.shape)}]"


def describe_error(error: BaseException) -> str:
    """One line: the type, the gist of the message, and the remedy where there is a plain one."""
    name, message = type(error).__name__[:_LONGEST_NAME], _gist(error)
    said = message if message.startswith(name) else f"{name}: {message}"
    return f"{said}{_REMEDIES.get(name, '')}"


def _attribute_hint(error: BaseException, asked: FrameType) -> str:
    """What to do where a class says something else than that an attribute is not there, to whoever asked for it."""
    is_lookup = asked.f_code.co_name in ("__getattr__", "__getattribute__")
    return "" if isinstance(error, AttributeError) or not is_lookup else _NOT_THERE.format(asked.f_code.co_name)


def _user_frame(recorder: Recorder, frame: FrameType, line: int) -> Frame | None:
    found = recorder.frame(frame)
    if found is None:
        return None
    return type(found)(found.path, line, found.function)


def _kind(error: BaseException, frames: list[tuple[FrameType, int]], paths: Mapping[str, str]) -> FailureKind:
    name = type(error).__name__
    if isinstance(error, (jax.errors.ConcretizationTypeError, jax.errors.TracerIntegerConversionError)):
        return "value"
    if isinstance(error, (jax.errors.TracerArrayConversionError, jax.errors.NonConcreteBooleanIndexError)):
        return "value"
    message = message_of(error)
    if _TRACED_SIZE.search(message):  # an array in the place of a size
        return "value"
    if isinstance(error, NotImplementedError) and "non-constant" in message:  # an operation without symbolic sizes
        return "value"
    if "PRNG key" in message_of(error):  # what is no key has no shape that could be wrong
        return "other"
    if name in _VALUE_TYPES or (VALUE_WORDS.search(message) and not _SHAPE_WORDS.search(_first_line(error))):
        return "value"
    if isinstance(error, AssertionError):
        return "shape" if _compares_shapes(frames) else "other"
    if not isinstance(error, (TypeError, ValueError, IndexError)) and name != "EinopsError":
        return "other"
    # What the user's own code raises is a check of the user's, and says nothing of JAX's shapes.
    raiser, line = frames[-1] if frames else (None, 0)
    if _NO_ARRAY.search(message):  # whatever it calls itself: `Normal(batch_shape=[3])`
        return "other"
    if _OF_KEYWORDS.search(message):  # whatever they are called: `shape=(3, 4)`
        return "other"
    if raiser is not None and _UNPACKED.match(message):  # `b, t, d = x.shape` is no check, of whatever file it is
        text = linecache.getline(raiser.f_code.co_filename, line)
        is_of_array = _unpacked_array(raiser, line) is not None
        return "shape" if is_of_array or _OF_SHAPE.search(text) else "other"
    if raiser is None or raiser.f_code.co_filename in paths:
        raises = raiser is not None and linecache.getline(raiser.f_code.co_filename, line).lstrip().startswith("raise")
        computes = raiser is not None and any(_arrays_on_line(raiser, line))  # `np.reshape(devices, (2, 4))` does not
        return "shape" if _OF_NUMPY.search(message) and computes and not raises else "other"
    module = str(raiser.f_globals.get("__name__", "")).split(".", 1)[0]
    if _DEVICES.search(message) or _PLACEMENT.search(message) or _NO_SIZE.search(message):
        return "other"
    if _is_library(module) and _SHAPE_WORDS.search(message):
        return "shape"
    return "other"


def _unpacked_array(frame: FrameType, line: int) -> tuple[str, ArrayValue] | None:
    """The array of which a line unpacks what comes of it, by its name: `x` of `a, b = x[rows].T`."""
    try:
        statement = parse_python(linecache.getline(frame.f_code.co_filename, line).strip()).body[0]
    except (SyntaxError, ValueError, IndexError):
        return None
    node = statement.value if isinstance(statement, ast.Assign) else None
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
            node = node.func.value
        elif isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in _KEEPING):
            node = node.value
        else:
            break
    chain = _chain(node) if node is not None else None
    value = _lookup(chain, frame) if chain is not None else None
    described = describe(value) if is_array(value) else None
    return (chain, described) if chain is not None and isinstance(described, ArrayValue) else None


def _compares_shapes(frames: list[tuple[FrameType, int]]) -> bool:
    """Whether a library ends with an `assert` of its own that shapes fit each other, as Flax's attention does."""
    if not frames or not _is_library(str(frames[-1][0].f_globals.get("__name__", "")).split(".", 1)[0]):
        return False
    file, line = frames[-1][0].f_code.co_filename, frames[-1][1]
    # Of `assert (` that stands before its condition Python 3.12 gives that line, others that of the condition.
    return _COMPARES_SHAPES.search(linecache.getline(file, line) + linecache.getline(file, line + 1)) is not None


def _needs_values(error: BaseException, frames: list[tuple[FrameType, int]], paths: Mapping[str, str]) -> str:
    """What to say where another library than JAX was given a traced array; nothing of any other error."""
    if isinstance(error, jax.errors.TracerArrayConversionError):
        array = _TRACED.search(message_of(error))
        return f"{_converter(frames, paths)} needs values, and was given {_a_traced_array(array)}"
    raiser = str(frames[-1][0].f_globals.get("__name__", "")) if frames else ""
    foreign = isinstance(error, TypeError) and not raiser.startswith("jax.")
    if foreign and _TRACER.search(first := _gist(error)) and not first.startswith("unhashable"):
        return f"{first} (a traced array, which has no values: only JAX can compute with it)"
    return ""


def _a_traced_array(found: re.Match[str] | None) -> str:
    return f"a traced array, {found[1]}" if found is not None else "a traced array"


def _converter(frames: list[tuple[FrameType, int]], paths: Mapping[str, str]) -> str:
    """Who asked a traced array for a copy with values: the library that the user's code called, mostly NumPy."""
    for frame, _ in reversed(frames):
        if frame.f_code.co_filename in paths:
            break
        library = str(frame.f_globals.get("__name__", "")).split(".", 1)[0]
        if library not in _ARRAY_LIBRARIES:
            return library
    return "NumPy"


def _gist(error: BaseException) -> str:
    """The first line of the message; where that ends with a colon, what it announces too, and how types differ."""
    first, *rest = _lines(error)
    if type(error).__name__ == "EinopsError" and rest:  # the pattern, the array, and then what does not fit
        return steady(f"{first.removesuffix('.')}: {rest[-1]}")
    details = list(itertools.takewhile(bool, itertools.dropwhile(lambda line: not line, rest)))
    whole = first.endswith(":") and len(details) <= _ANNOUNCED
    if not whole:
        details = [line for line in rest if _HOW_TYPES_DIFFER.search(line)][:1]
    gist = steady(" ".join([first, *(line.removeprefix("* ") for line in details)]))
    return f"{gist}{_MORE_DEVICES}" if _DEVICES.search(gist) else gist


def _first_line(error: BaseException) -> str:
    return steady(_lines(error)[0])


def _lines(error: BaseException) -> list[str]:
    """The lines of the message, of which the first says something."""
    if isinstance(error, RecursionError):  # what Python was doing at the last turn is chance
        return ["maximum recursion depth exceeded"]
    name = type(error).__name__[:_LONGEST_NAME]
    lines = [_clip(line.strip()) for line in message_of(error).strip().splitlines()] or [name]
    return [f"KeyError: {lines[0]}", *lines[1:]] if isinstance(error, KeyError) else lines


def _clip(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..."


def steady(message: str) -> str:
    """A message without what differs from run to run: addresses, and the names of temporary folders."""
    for pattern, instead in _BY_CHANCE:
        message = pattern.sub(instead, message)
    return message


def _operation(frames: list[tuple[FrameType, int]], user: FrameType, message: str) -> str:
    """The function of JAX that the user's line called, or the primitive that the message names."""
    after = [f for f, _ in frames]
    named = re.match(r"([a-z_]+[a-z]) (?:got|requires|operands|indices)", message)
    for callee in after[after.index(user) + 1 :]:
        name = callee.f_code.co_name
        module = str(callee.f_globals.get("__name__", ""))
        if is_machinery(module):
            continue
        layers = tuple(each.layers for each in loaded_frameworks() if each.layers)
        if module.startswith(layers) and name == "__call__":
            return type(callee.f_locals.get("self")).__name__
        public = public_name(module, name)
        if _is_library(module.split(".", 1)[0]) and public:
            return public
    if _UNPACKED.match(message):
        return "unpacking"
    return named.group(1) if named else ""


def _is_library(package: str) -> bool:
    """Whether shapes are what a package computes with: what it raises of them is the user's shape error."""
    return package in _LIBRARIES or package in packages()


def _arrays_on_line(frame: FrameType, line: int) -> Iterator[tuple[str, ArrayValue]]:
    """Every array that a name or attribute chain of the failing statement stands for."""
    seen: dict[str, None] = {}
    for chain in _chains(frame.f_code.co_filename, line):
        if chain in seen:
            continue
        seen[chain] = None
        value = _lookup(chain, frame)
        if value is not None and is_array(value):
            described = describe(value)
            if isinstance(described, ArrayValue):
                yield chain, described


def _chains(filename: str, line: int) -> tuple[str, ...]:
    return _chains_in("".join(linecache.getlines(filename)), line)


@functools.lru_cache(maxsize=256)  # a search for sizes fails on the same line again and again
def _chains_in(source: str, line: int) -> tuple[str, ...]:
    """The names and attribute chains that the statement on a line of some source reads."""
    tree = _parse_source(source)
    statement = _statement(tree, line) if tree is not None else None
    if statement is None:
        return ()
    chains: list[str] = []
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop(0)
        chain = _chain(node)
        if chain is not None:
            chains.append(chain)
        else:
            todo += [n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.stmt)]
    return tuple(chains)


@functools.lru_cache(maxsize=4)
def _parse_source(source: str) -> ast.Module | None:
    try:
        return parse_python(source)
    except (SyntaxError, ValueError):
        return None


def _statement(tree: ast.AST, line: int) -> ast.stmt | None:
    best: ast.stmt | None = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or node.lineno):
            continue
        if best is None or node.lineno >= best.lineno:
            best = node
    return best


def _chain(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        base = _chain(node.value)
        return None if base is None or node.attr in ("shape", "dtype", "ndim", "T", "at") else f"{base}.{node.attr}"
    return None


def _is_of_devices(chain: str, frame: FrameType) -> bool:
    """Whether it stands for a function that gives the machine's devices, for one of these, or for an array of them."""
    if chain.rpartition(".")[2] in ("devices", "local_devices"):
        return True
    value = _lookup(chain, frame)
    first = next(iter(value.flat), None) if isinstance(value, np.ndarray) and value.dtype == object else value
    first = next(iter(first), None) if isinstance(first, (list, tuple)) else first
    return isinstance(first, jax.Device)


def _lookup(chain: str, frame: FrameType) -> object:
    first, *rest = chain.split(".")
    value = frame.f_locals.get(first, frame.f_globals.get(first))
    for name in rest:
        members = own_names(value)
        if name not in members:
            return None
        value = members[name]
    return value


def line_in(error: BaseException, file: str) -> int:
    """The line of `file` on which its import failed."""
    line = 1
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno or line
    return line
