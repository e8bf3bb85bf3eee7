"""Every name of JAX's inside that we rely on. A new version of JAX is met here, and nowhere else.

JAX has no public way to ask which transformations are under way, or what a tracer has in hand; so frames of the call
stack are known by the files and functions that they run, and tracers by their attributes. Each name was seen in JAX 0.5
to 0.12, unless it says otherwise. Where one does not fit a version, less is known (a stage without the `vmap` around
it, a claim without the reading that has the mapped axes in front), and nothing breaks.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import linecache
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

_MOST = 64  # tracers around each other


@dataclass(frozen=True, kw_only=True)
class JaxFunction:
    """A function of JAX that runs a transformation: the end of its file's name, its own name, and the public name.

    The local variable `size` has the size of the axis that it takes away. One that traces `always` does so whatever it
    is given; the others compute where they are given real arrays.
    """

    file: str
    function: str
    label: str
    size: str = ""
    always: bool = False


@dataclass(frozen=True, kw_only=True)
class DebuggedFrame:
    """A frame that JAX's debugger is to show: its variables, and those of its module."""

    file: str
    line: int
    variables: Mapping[str, object]
    module: Mapping[str, object]


TRANSFORMS = (
    JaxFunction(file="_src/api.py", function="vmap_f", label="vmap", size="axis_size_"),
    JaxFunction(file="_src/api.py", function="value_and_grad_f", label="grad"),
    JaxFunction(file="_src/pjit.py", function="_infer_params", label="jit", always=True),
    JaxFunction(file="control_flow/loops.py", function="scan", label="scan", size="length", always=True),
    JaxFunction(file="control_flow/loops.py", function="while_loop", label="while_loop", always=True),
    JaxFunction(file="control_flow/conditionals.py", function="cond", label="cond", always=True),
    # Until JAX 0.6, `cond` called `_cond`: one and the same.
    JaxFunction(file="control_flow/conditionals.py", function="_cond", label="cond", always=True),
    JaxFunction(file="control_flow/conditionals.py", function="switch", label="switch", always=True),
    JaxFunction(file="_src/ad_checkpoint.py", function="fun_remat", label="checkpoint", always=True),
    # In JAX 0.10 the flag `jax_remat3` puts this in its place; in 0.12 it runs inside of it, and traces nothing itself.
    JaxFunction(file="_src/ad_checkpoint.py", function="_remat3", label="checkpoint", always=True),
)
_HIGH_LEVEL = "call_hi_primitive"
_HIGH_LEVEL_NAMES = {"Scan3": "scan"}  # those whose parameters mean what they do in the operation of that name
_BY_FUNCTION = {each.function: each for each in TRANSFORMS}
_TRACING = "_src/interpreters/partial_eval.py"
_JITTING = "_src/pjit.py"
_CALLING_BACK = "_src/callback.py"  # JAX's own side of a callback: it, too, runs Python
_MAPPED = "vmap_f"
_PRIVATE = "jax._src."
CALLBACK_LOGGER = "jax._src.callback"
"""Where JAX logs what a callback on the host raises."""
PALLAS_MODULES = ("jax.experimental.pallas", "jax._src.pallas")
"""Where the names of Pallas are at home."""
_ARRAY_METHODS = ".array_methods"
_OPERATORS = {"sub": "subtract", "mul": "multiply", "truediv": "divide"}
_QUESTIONS = ("is_concrete", "to_concrete_value")
_SAVING = {  # functions that ask for a value only to go a shorter way: to convert nothing, or to keep a sharding
    "_convert_element_type": ("_src/lax/lax.py",),
    "array": ("_src/numpy/array_constructors.py", "_src/numpy/lax_numpy.py"),  # the latter in JAX 0.5
    "_infer_src_sharding": ("_src/api.py",),
}
_HOOK = "_post_hook_state"  # what looks at the results of compiled functions, where `debug_nans` is on; from JAX 0.10
_LOCAL_HOOK = "_update_thread_local_hook"
_DEBUGGING = ("debug_nans", "debug_infs")
_WRAPPERS = re.compile(
    r"^_|^<|reraise|result_paths|wrapper|wrapped|deferring|cache_miss|fun$|^meth$|^op$|^inner$|^bind|^call"
)
# Its words where it needs a value, or a size, that is not known: the classes of symbolic sizes and of tracers.
VALUE_WORDS = re.compile(
    r"_DimExpr|symbolic dim|InconclusiveDimension|dimension expression|Tracer|traced|abstract", re.IGNORECASE
)
_MACHINERY = ("jax._src.interpreters.", "jax._src.pjit", "jax._src.linear_util", "jax._src.profiler", "jax._src.core")


def transform_in(frame: FrameType) -> JaxFunction | None:
    """The transformation that runs in a frame, if one does."""
    known = _BY_FUNCTION.get(frame.f_code.co_name)
    return known if known is not None and frame.f_code.co_filename.endswith(known.file) else None


def mapped_size(frame: FrameType, transform: JaxFunction) -> object:
    """The size of the axis that a transformation takes away, None if it tells none."""
    return frame.f_locals.get(transform.size) if transform.size else None


def vmap_arguments(frame: FrameType) -> tuple[Any, Any, object] | None:
    """What `vmap` was given, which runs in a frame: the leaves, the axis of each, and their structure."""
    given, axes, tree = (frame.f_locals.get(name) for name in ("args_flat", "in_axes_flat", "in_tree"))
    return None if given is None or axes is None or tree is None else (given, axes, tree)


def is_tracing(frame: FrameType) -> bool:
    """Whether JAX traces a function in it."""
    return frame.f_code.co_filename.endswith(_TRACING)


def begins_trace(frame: FrameType) -> bool:
    """Whether JAX has begun to trace a function in it."""
    return frame.f_code.co_name.startswith("trace_to_") and is_tracing(frame)


def holds_trace(frame: FrameType, trace: object) -> bool:
    """Whether a frame that begins a trace has begun this one."""
    return frame.f_locals.get("trace") is trace


def processes_primitive(frame: FrameType) -> bool:
    """Whether a trace takes in an operation in it, such as the body of a `custom_jvp` function."""
    return is_tracing(frame) and frame.f_code.co_name.startswith("process_")


def is_jitting(frame: FrameType) -> bool:
    """Whether a jitted function is called in it."""
    return frame.f_code.co_filename.endswith(_JITTING)


def calls_back(frame: FrameType) -> bool:
    """Whether JAX gives values to a callback on the host in it."""
    return frame.f_code.co_filename.replace("\\", "/").endswith(f"jax/{_CALLING_BACK}")


def needs_value(frame: FrameType | None) -> bool:
    """Whether what asks for the value of a tracer, by the function in a frame, does another thing where it has one.

    Each operation of `jax.numpy` converts its operands to one dtype, and asks for the value of those that have it.
    """
    while frame is not None and frame.f_code.co_name in _QUESTIONS:
        frame = frame.f_back
    if frame is None:
        return True
    files = _SAVING.get(frame.f_code.co_name, ())
    return not frame.f_code.co_filename.replace("\\", "/").endswith(files)


def is_machinery(module: str) -> bool:
    """Whether a module of this name only carries out what another function of JAX was asked for."""
    return module.startswith(_MACHINERY)


def public_name(module: str, function: str) -> str:
    """What the user called, by which a function of a module of JAX runs; "" if it only passes a call on.

    To methods and operators of arrays `op` and `meth` lead, `x - y` to `_operator_sub`; `jax.vmap` and
    `jax.value_and_grad` return wrappers `vmap_f` and `value_and_grad_f`.
    """
    if module.endswith(_ARRAY_METHODS):
        function = function.removeprefix("_operator_").removeprefix("_")
        function = _OPERATORS.get(function, function)
    return "" if _WRAPPERS.search(function) else function.removesuffix("_f")


def is_private(module: str) -> bool:
    """Whether a module of this name is JAX's own, which its users do not import."""
    return module.startswith(_PRIVATE)


def operation_of(equation: Any) -> tuple[str, Mapping[str, Any]]:
    """The name and the parameters of the operation that an equation carries out.

    An operation on another level than XLA's stands with its parameters in one of the equation. So do since JAX 0.12
    `scan`, `checkpoint` and functions with derivatives of their own, under the flags `jax_scan3`, `jax_remat3`,
    `jax_custom_jvp3` and `jax_custom_vjp3`; the latter two hold what was traced, and that the jaxpr.
    """
    name, params = equation.primitive.name, equation.params
    inner = params.get("_prim") if name == _HIGH_LEVEL else None
    if inner is None:
        return name, params
    given = getattr(inner, "params", {})
    kind = type(inner).__name__
    return _HIGH_LEVEL_NAMES.get(kind, kind), {key: _traced_jaxpr(value) for key, value in given.items()}


def _traced_jaxpr(value: object) -> object:
    inner = getattr(value, "jaxpr", None)
    return inner if hasattr(inner, "eqns") else value


def trace_of(tracer: object) -> object:
    """The trace that a tracer belongs to, None if that is not known."""
    return getattr(tracer, "_trace", None)


def innermost_trace() -> Any:
    """The trace that takes in the operations that come now."""
    return sys.modules["jax._src.core"].trace_ctx.trace


@functools.cache
def leave_out_of_sources(file: str) -> None:
    """Let operations be from the line of the user's code that asked for them, and not from a file of ours between."""
    getattr(sys.modules.get("jax._src.source_info_util"), "register_exclusion", lambda file: None)(file)


def mapped_axis(tracer: object) -> int | None:
    """The axis that `vmap` has taken away from what a tracer has in hand, None for a tracer of something else."""
    axis = getattr(tracer, "batch_dim", None)
    return axis if isinstance(axis, int) else None


def nested_tracers(value: object) -> Iterator[tuple[object, Any]]:
    """Each tracer of `vmap` and of derivatives, the inner ones first, with what it has in hand: a tracer or an array.

    A batching tracer has `val` and `batch_dim`, a differentiation tracer `primal`.
    """
    for _ in range(_MOST):
        inner = getattr(value, "val", None) if _is_tracer(value) else None
        inner = inner if hasattr(inner, "shape") else getattr(value, "primal", None)
        if inner is None or inner is value or not hasattr(inner, "shape"):
            return
        yield value, inner
        value = inner


def _is_tracer(value: object) -> bool:
    jax = sys.modules.get("jax")  # a running program decides itself when it is loaded
    return jax is not None and isinstance(value, jax.core.Tracer)


def innermost(value: object) -> object:
    """What all of them have wrapped, `value` itself if it is no such tracer."""
    return next((inner for _, inner in reversed(list(nested_tracers(value)))), value)


def traces_under_way(frame: FrameType | None) -> list[object]:
    """The traces of functions that JAX has begun around a frame, and has not ended."""
    found = []
    while frame is not None:
        if begins_trace(frame):
            found.append(frame.f_locals.get("trace"))
        frame = frame.f_back
    return found


def is_alive(tracer: object, under_way: Sequence[object]) -> bool:
    """Whether a tracer, and whatever it has in hand, can still be computed with.

    JAX marks traces of `vmap` and of derivatives that are over. A trace of a function is over if it is not `under_way`.
    """
    value = tracer
    for wrapping, inner in nested_tracers(tracer):
        if not getattr(trace_of(wrapping), "is_valid", lambda: True)():
            return False
        value = inner
    return not _is_tracer(value) or any(trace_of(value) is each for each in under_way)


def open_debugger(frames: Sequence[DebuggedFrame]) -> None:
    """Open JAX's debugger with these frames, the innermost first; returns when its user lets the program go on."""
    from jax._src.debugger import core  # noqa: PLC0415 - only where a program stops

    def make(frame: DebuggedFrame) -> Any:
        lines = linecache.getlines(frame.file)
        source = [line.rstrip("\n") for line in lines]
        offset = frame.line - 1 if 0 < frame.line <= len(lines) else None
        return core.DebuggerFrame(
            filename=frame.file,
            locals=dict(frame.variables),
            globals=dict(frame.module),
            code_context="",
            source=source if offset is not None else [],
            lineno=frame.line,
            offset=offset,
        )

    is_main = threading.current_thread() is threading.main_thread()
    with core.debug_lock:
        core.get_debugger()([make(each) for each in frames], None if is_main else threading.get_ident())


def is_jit_wrapper(value: object, *, is_method: bool) -> bool:
    """Whether a value is what `jax.jit` makes of a function.

    Not a method under `jax.jit` itself: what `self` holds may be static there.
    """
    return type(value).__name__ == "PjitFunction" and not is_method


def is_mapped(function: object) -> bool:
    """Whether a function is what `jax.vmap` makes of one, perhaps with other transformations around it."""
    while function is not None:
        # What shortens tracebacks stands around it, and is said to wrap what is mapped.
        inside = (_content(cell) for cell in getattr(function, "__closure__", None) or ())
        if any(getattr(getattr(each, "__code__", None), "co_name", "") == _MAPPED for each in (function, *inside)):
            return True
        function = getattr(function, "__wrapped__", None)
    return False


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # of a name that has no value yet
        return None


@contextlib.contextmanager
def keep_debug_hook() -> Iterator[None]:
    """Meanwhile `with jax.debug_nans(False)` ends as it began, in every thread.

    JAX enters it of its own, as under `vmap`. Where the thread had no setting of its own, the one for all threads
    holds again afterwards, but in JAX 0.10 to 0.12 the thread has lost the hook that looks at what compiled functions
    give, and NaN passes unseen. A monkeypatch: the hook of the thread goes with its setting.
    """
    api, config = sys.modules["jax._src.api"], sys.modules["jax._src.config"]
    hook, unset = getattr(api, _HOOK, None), getattr(getattr(config, "config_ext", None), "unset", None)
    states = [getattr(config, name) for name in _DEBUGGING]
    if hook is None or unset is None or not all(hasattr(each, _LOCAL_HOOK) for each in states):
        yield
        return
    found = [getattr(each, _LOCAL_HOOK) for each in states]

    def forget() -> None:
        if all(each.get_local() is unset for each in states):
            hook.set_local(unset)

    def follow(update: Callable[[object], None]) -> Callable[[object], None]:
        def update_and_forget(value: object) -> None:
            update(value)
            forget()

        return update_and_forget

    for state, update in zip(states, found, strict=True):
        setattr(state, _LOCAL_HOOK, follow(update))
    forget()
    try:
        yield
    finally:
        for state, update in zip(states, found, strict=True):
            setattr(state, _LOCAL_HOOK, update)


def keep_own_traces(is_probed: Callable[[Mapping[str, object]], bool]) -> None:
    """A monkeypatch for good: what JAX has traced of its own functions outlives `jax.clear_caches`.

    Most of the time of an evaluation with empty caches goes into tracing `jnp.var`, `jax.random.uniform` and their like
    once more. Kept is what runs none of the user's code, and cannot depend on any: functions of JAX's modules without
    variables of an outer function (save in modules that `is_probed`, by their names), called with sizes that are
    numbers, containers of Python's own and simple static arguments; and what JAX derives from the operations of a
    trace, which goes when the trace does. Where a version has other names, nothing is kept.
    """
    jitting, util = sys.modules.get("jax._src.pjit"), sys.modules.get("jax._src.util")
    ask, entry = getattr(jitting, _TRACES, None), getattr(jitting, "InferParamsCacheEntry", None)
    make_cache = getattr(util, "weakref_lru_cache", None)
    if not isinstance(jitting, ModuleType) or not isinstance(util, ModuleType) or not (ask and entry and make_cache):
        return

    def begin_entry(function: object, *args: object) -> object:
        return entry()

    kept = make_cache(begin_entry)
    register = vars(util).get(_REGISTER)
    if isinstance(register, MutableMapping):
        for cache, described in list(register.items()):  # such as "<function _dce_jaxpr at 0x7f>"
            if cache is kept or not _DERIVED.isdisjoint(str(described).split()):
                del register[cache]

    @functools.wraps(ask, updated=())
    def ask_kept(function: Any, info: object, signature: object, avals: Any, *args: object) -> object:
        own = _is_own_function(function, is_probed) and _is_plain_signature(signature) and all(map(_is_sized, avals))
        return (kept if own else ask)(function, info, signature, avals, *args)

    for name in ("cache_clear", "cache_info", "evict_weakref"):
        if hasattr(ask, name):
            setattr(ask_kept, name, getattr(ask, name))
    setattr(jitting, _TRACES, ask_kept)


_TRACES = "_infer_params_cached"
_REGISTER = "_caches"  # of all that `jax.clear_caches` empties, with what each is for
_DERIVED = frozenset({"_linearize_jaxpr", "_transpose_jaxpr_fancy", "_dce_jaxpr", "_prune_jaxpr_outputs"})
"""Caches that go by the operations of a trace, and hold them weakly."""
_SIMPLE = (type(None), bool, int, float, complex, str, bytes, np.dtype, np.generic, enum.Enum)
_CONTAINERS = (tuple, list, dict, type(None))
_TYPES_FROM = frozenset({"builtins", "jax", "ml_dtypes", "numpy"})


def _is_own_function(function: object, is_probed: Callable[[Mapping[str, object]], bool]) -> bool:
    if type(function) is not FunctionType or function.__closure__ is not None:
        return False
    names = function.__globals__
    return str(names.get("__name__", "")).startswith(_PRIVATE) and not is_probed(names)


def _is_plain_signature(signature: Any) -> bool:
    statics = getattr(signature, "static_args", (object(),))
    return all(map(_is_simple, statics)) and all(map(_is_plain_tree, signature.dynamic_arg_treedefs))


def _is_simple(value: object) -> bool:
    """Whether a static argument can call nothing of the user's, and is no size that is only a symbol."""
    if isinstance(value, type):
        return str(value.__module__).partition(".")[0] in _TYPES_FROM
    if isinstance(value, (tuple, list, frozenset)):
        return all(map(_is_simple, value))
    return isinstance(value, _SIMPLE)


def _is_plain_tree(tree: Any) -> bool:
    """Whether a structure is made of containers of Python's own."""
    if tree.num_nodes == 1 and tree.num_leaves == 1:
        return True
    node = tree.node_data()
    return (node is None or node[0] in _CONTAINERS) and all(map(_is_plain_tree, tree.children()))


def _is_sized(aval: Any) -> bool:
    sizes = getattr(aval, "shape", "?")
    return str(type(aval).__module__).startswith(_PRIVATE) and all(type(size) is int for size in sizes)


def has_computed() -> bool:
    """Whether JAX has started its backends, and with them threads: a process that has cannot be forked safely."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    started = getattr(bridge, "backends_are_initialized", None)
    return True if started is None else bool(started())


_EVALUATORS = ("shapecheck.evaluate.inputs", "shapecheck.evaluate.suites", "shapecheck.evaluate.session")


def module_of(frame: FrameType) -> str:
    """The name of the module that runs in a frame."""
    return str(frame.f_globals.get("__name__", ""))


def evaluates(frame: FrameType) -> bool:
    """Whether our evaluation of the user's code is what runs in it: all outside of it is ours too."""
    return module_of(frame).startswith(_EVALUATORS)
