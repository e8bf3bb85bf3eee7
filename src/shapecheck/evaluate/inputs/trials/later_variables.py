"""Variables of a model that are made when it runs: `params` of `loss(params, x)`, which calls `model.apply(params, x)`.

What nothing describes may be what a framework's own `init` makes for just the inputs that the model gets. So a function
runs first with variables in which there is nothing. Where that ends it, the frames of the error show which model was
to run, and on what; its `init` is evaluated, and the function runs again with what that gives. Optimizers likewise.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any

import jax

from shapecheck.evaluate.framework_protocol import RunningModel, loaded_frameworks
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall, build
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.evaluate.probes.vmap_axes import mapped_axes
from shapecheck.model import Assumption

_OF_ARRAYS = (TypeError, ValueError)  # what JAX raises of shapes that do not fit
_DEEPEST = 3  # containers around variables, as `{"params": params}` is
_UPDATED = 2  # what an optimizer's update takes at least: gradients and its state


class Use:
    """Whether code has asked for a part of variables that are not made yet, or for their leaves.

    What takes them apart and puts them together again, as the transformations of JAX do, has not.
    """

    def __init__(self) -> None:
        self.seen, self.apart = False, 0


class LaterVariables(dict[str, object]):
    """What stands for variables until they are made: a dict in which nothing is, and of which each part is the same.

    A pytree without leaves, so that it goes wherever variables go.
    """

    def __init__(self, name: str, path: tuple[str, ...] = (), use: Use | None = None) -> None:
        super().__init__()
        self.name, self.path = name, path
        self.use = use or Use()

    def __missing__(self, key: str) -> LaterVariables:
        """The part that is yet to be made; asking for it changes nothing."""
        self.use.seen = True
        return LaterVariables(self.name, (*self.path, key), self.use)


_Place = tuple[str, tuple[str, ...], tuple[str, ...], Use]


def _flatten(variables: LaterVariables) -> tuple[list[object], _Place]:
    keys = tuple(sorted(variables, key=str))
    variables.use.apart += 1
    return [variables[key] for key in keys], (variables.name, variables.path, keys, variables.use)


def _unflatten(place: _Place, children: Sequence[object]) -> LaterVariables:
    name, path, keys, use = place
    found = LaterVariables(name, path, use)
    use.apart -= 1
    found.update(zip(keys, children, strict=True))
    return found


jax.tree_util.register_pytree_node(LaterVariables, _flatten, _unflatten)


@dataclass
class LaterArgument:
    """One argument of a call: the variables as far as they are made. Without them the call `fails` so, as ever."""

    name: str
    fails: Exception
    given: object = None
    is_mapped: bool = False

    def __post_init__(self) -> None:
        self.given = LaterVariables(self.name)

    @property
    def is_made(self) -> bool:
        """Whether all of it is made that a model has asked for."""
        return not isinstance(self.given, LaterVariables)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing of it is made, and no code has looked for any."""
        given = self.given
        return isinstance(given, LaterVariables) and not (given.use.seen or given.use.apart > 0)

    def take(self, other: LaterArgument) -> None:
        """Have what another one has, which was made for the same call before."""
        self.given, self.is_mapped = other.given, other.is_mapped

    def put(self, path: Sequence[str], made: object) -> None:
        """Set what one of its parts is."""
        if not path:
            self.given = made
            return
        inner: Any = self.given
        for key in path[:-1]:
            inner = inner.setdefault(key, inner[key])
        inner[path[-1]] = made

    def close(self) -> bool:
        """Let what is made be all that there is; whether it was not so before."""
        if self.is_made or not self.given:
            return False
        self.given = _plain(self.given)
        return True


def _plain(value: object) -> object:
    return {key: _plain(part) for key, part in value.items()} if isinstance(value, LaterVariables) else value


def make_later(arguments: Mapping[str, LaterArgument], error: BaseException) -> bool:
    """Make what the model, or the optimizer, lacks that an error came from; whether there is more of it than before."""
    for frame in _frames(error):
        found = [each.running_model(frame) for each in loaded_frameworks()]
        for running in filter(None, [*found, _running_optimizer(frame)]):
            if any(each.name in arguments for each in _find_later(running.given)):
                return _make(arguments, running)
    return False


def _running_optimizer(frame: FrameType) -> RunningModel | None:
    """The optimizer, if what runs in a frame is the `update` of a pair (init, update), as Optax has them.

    https://optax.readthedocs.io/en/latest/api/transformations.html#optax.GradientTransformation
    """
    code, caller = frame.f_code, frame.f_back
    given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
    if caller is None or len(given) < _UPDATED or next(_find_later(given[1]), None) is None:
        return None
    values = [*caller.f_locals.values(), *caller.f_globals.values()]
    held = (part for value in caller.f_locals.values() for part in _attributes(value))
    for value in itertools.chain(values, held):
        if not isinstance(value, tuple) or not hasattr(type(value), "_fields"):
            continue  # a pair of functions
        update, init = getattr(value, "update", None), getattr(value, "init", None)
        if isinstance(update, FunctionType) and update.__code__ is code and _closure(update) == _variables(frame):
            parameters = given[2] if len(given) > _UPDATED and given[2] is not None else given[0]
            return RunningModel(given[1], init, (parameters,)) if callable(init) else None
    return None


def _attributes(value: object) -> Sequence[object]:
    """What an object holds itself, without asking its class, which may do anything."""
    try:
        return list(object.__getattribute__(value, "__dict__").values())
    except AttributeError:
        return ()


def _closure(function: FunctionType) -> list[object]:
    return [id(cell.cell_contents) for cell in function.__closure__ or ()]


def _variables(frame: FrameType) -> list[object]:
    return [id(frame.f_locals.get(name)) for name in frame.f_code.co_freevars]


def _make(arguments: Mapping[str, LaterArgument], running: RunningModel) -> bool:
    """Make what a model lacks. Raises why nobody can where it runs on what is not described itself: `batch["x"]`."""
    inputs = jax.tree_util.tree_leaves((running.args, running.kwargs), is_leaf=lambda v: isinstance(v, LaterVariables))
    for each in inputs:
        if isinstance(each, LaterVariables) and each.name in arguments:
            raise arguments[each.name].fails
    args, kwargs = jax.tree_util.tree_map(_abstract, (tuple(running.args), dict(running.kwargs)))
    made = build(LazyCall(running.init, args, kwargs))
    is_mapped = any(map(mapped_axes, filter(is_array, jax.tree_util.tree_leaves((running.args, running.kwargs)))))
    found = list(_paired_parts(running.given, made))
    for place, part in found:
        argument = arguments.get(place.name)
        if argument is not None and not argument.is_made:
            argument.put(place.path, part)
            argument.is_mapped |= is_mapped
    return bool(found)


def _abstract(leaf: object) -> object:
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if is_array(leaf) else leaf


def _find_later(given: object, depth: int = _DEEPEST) -> Iterator[LaterVariables]:
    """Those in plain containers, which may hold themselves: what others do when they are looked into is their own."""
    if isinstance(given, LaterVariables):
        yield given
    elif depth and type(given) in (dict, tuple, list):
        parts: Any = given
        for part in parts.values() if type(given) is dict else parts:
            yield from _find_later(part, depth - 1)


def _paired_parts(given: object, made: object) -> Iterator[tuple[LaterVariables, object]]:
    """What stands for variables, with those that are made in its place."""
    if isinstance(given, LaterVariables):
        yield given, made
    elif isinstance(given, Mapping) and isinstance(made, Mapping):
        for key in given.keys() & made.keys():
            yield from _paired_parts(given[key], made[key])
    elif isinstance(given, tuple | list) and isinstance(made, tuple | list):
        for part, other in zip(given, made, strict=False):
            yield from _paired_parts(part, other)


def _frames(error: BaseException) -> Iterator[FrameType]:
    """The frames that an error came through, the innermost first."""
    trace, frames = error.__traceback__, list[FrameType]()
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    yield from reversed(frames)


def with_given(value: object) -> object:
    """An argument as it is by now."""
    return value.given if isinstance(value, LaterArgument) else value


def make_more(arguments: Mapping[str, LaterArgument], error: BaseException | None) -> bool:
    """Whether there is more of them for another run than in one that has ended so, with an `error` or without.

    Raises why those cannot be made that are missing still, unless the run ended before anything looked at them.
    """
    if isinstance(error, _OF_ARRAYS) and all(each.is_untouched for each in arguments.values()):
        return False
    found = error is not None and make_later(arguments, error)
    if not found:  # what nobody has asked for is not there
        closed = [each.close() for each in arguments.values()]
        found = any(closed)
    missing = next((each for each in arguments.values() if not each.is_made), None)
    if missing is not None and not found:
        raise missing.fails
    return found


def assumptions_of(arguments: Mapping[str, LaterArgument]) -> Iterator[Assumption]:
    """What was made for one of the examples over which `vmap` goes, though there may be variables for each."""
    for each in arguments.values():
        if each.is_mapped:
            yield Assumption("value", each.name, "what init makes for one example", "invented")
