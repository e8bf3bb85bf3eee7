"""Looking at values where they are computed: inside `jit`, `vmap`, `scan` and `grad`, and outside of them.

A tap is the identity on arrays, with a function on the host that receives them. How it gets there:
- `jax.custom_batching.custom_vmap` lifts it out of `vmap`: it sees the arrays whole, with the mapped axes in front.
- `jax.pure_callback` tells the host. It may stand anywhere, under `jax.checkpoint` too.
- What it answers is selected on, so that nothing which uses the value runs before the host has it.
  (https://docs.jax.dev/en/latest/external-callbacks.html: a pure callback whose result nobody uses may be left out.)
- `jax.custom_vjp` puts it on the cotangent, for which reason forward-mode derivatives do not go through it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap

from shapecheck.evaluate.framework_protocol import has_identity, is_state

HostArray = np.ndarray[tuple[int, ...], np.dtype[Any]]
"""An array of NumPy, of any shape and dtype."""

Arrays = Sequence[Any]  # of JAX, or of NumPy on the host


@dataclass(frozen=True)
class Stop:
    """What is done on the host where a program is to stop: `open` is given `arrays` as they are there."""

    arrays: Arrays
    open: Callable[[Arrays], None]


@dataclass(frozen=True)
class Sink:
    """What is to be known of arrays, and who receives it on the host.

    `worth` says whether they are worth it, `parts` computes what is sent. Both are given the tapped arrays, `parts`
    those too that they came from. `receive` is given the shapes of all, and the parts. It may raise, and it may answer
    that the program is to stop, as `stop` says: that is asked for with the tapped value, where it is computed.

    If `worth` and `parts` take arrays of NumPy as well, `on_host`, they are given those where all lie on one device:
    what is rarely worth it need not be compiled. Of several devices, each sends its parts, and no array goes to one.
    """

    parts: Callable[[Arrays, Arrays], list[jax.Array]]
    receive: Callable[[list[tuple[int, ...]], list[HostArray]], bool | None]
    worth: Callable[[Arrays], jax.Array] | None = None
    stop: Callable[[object], Stop] | None = None
    on_host: bool = False


def tap(value: object, given: object, sink: Sink, which: Callable[[object], bool] | None = None) -> object:
    """`value`, a pytree, whose arrays of inexact numbers, or `which`, are sent to `sink` as they are computed.

    Those of `given` are what they came from.
    """
    which = which or is_inexact
    leaves, structure = jax.tree_util.tree_flatten(value, is_leaf=has_identity)
    places = [index for index, leaf in enumerate(leaves) if which(leaf)]
    if not places:
        return value
    came = [leaf for leaf in jax.tree_util.tree_leaves(given, is_leaf=is_state) if which(leaf)]
    stop = sink.stop(value) if sink.stop is not None else None
    if not any(isinstance(leaves[index], jax.core.Tracer) for index in places):
        _send_concrete(
            [leaves[index] for index in places], [a for a in came if not isinstance(a, jax.core.Tracer)], sink, stop
        )
        return value
    outs = [jax.lax.stop_gradient(jnp.asarray(leaves[index])) for index in places]
    ins = [jax.lax.stop_gradient(jnp.asarray(leaf)) for leaf in came]
    seen = [jax.lax.stop_gradient(array) for array in stop.arrays] if stop is not None else []
    answer = _send_unmapped(sink, stop)(outs, ins, seen)
    for index in places:
        otherwise = jnp.nan if jnp.issubdtype(leaves[index].dtype, jnp.inexact) else False
        leaves[index] = jnp.where(answer, leaves[index], otherwise)
    return jax.tree_util.tree_unflatten(structure, leaves)


def tap_gradient(value: object, sink: Callable[[jax.Array], Sink]) -> object:
    """`value`, the cotangents of whose arrays are sent when they are computed: each to the sink that it has."""

    def tap_leaf(leaf: jax.Array) -> object:
        return _tap_array(leaf, sink(leaf)) if is_inexact(leaf) else leaf

    return jax.tree_util.tree_map(tap_leaf, value, is_leaf=has_identity)


def _tap_array(array: object, sink: Sink) -> object:
    @jax.custom_vjp
    def identity(array: object) -> object:
        return array

    def forward(array: object) -> tuple[object, None]:
        return array, None

    def backward(_: None, cotangent: object) -> tuple[object]:
        return (tap(cotangent, (), sink),)

    identity.defvjp(forward, backward)
    return identity(array)


def arrays_in(value: object) -> list[jax.Array]:
    """The arrays of inexact numbers in a pytree that can be tapped."""
    return [leaf for leaf in jax.tree_util.tree_leaves(value, is_leaf=has_identity) if is_inexact(leaf)]


def _send_concrete(outs: Arrays, ins: Arrays, sink: Sink, stop: Stop | None) -> None:
    """The same at once, for arrays that are there."""
    if _takes_whole_arrays(sink):
        outs, ins = [np.asarray(each) for each in outs], [np.asarray(each) for each in ins]
    if sink.worth is None or bool(sink.worth(outs)):
        shapes = [tuple(array.shape) for array in (*outs, *ins)]
        if sink.receive(shapes, [np.asarray(part) for part in sink.parts(outs, ins)]) and stop is not None:
            stop.open(stop.arrays)


def is_inexact(value: object) -> TypeGuard[jax.Array]:
    """Whether it is an array of floating or complex numbers, and not empty."""
    return isinstance(value, jax.Array) and bool(jnp.issubdtype(value.dtype, jnp.inexact)) and value.size > 0


def _send_unmapped(sink: Sink, stop: Stop | None) -> Callable[[Arrays, Arrays, Arrays], jax.Array]:
    """Sends whole arrays to the sink, whatever they are mapped over, and gives True."""

    @custom_vmap
    def good(outs: Arrays, ins: Arrays, seen: Arrays) -> jax.Array:
        return _send_to_host(sink, stop, outs, ins, seen)

    @good.def_vmap
    def batch_rule(size: int, batched: object, outs: Arrays, ins: Arrays, seen: Arrays) -> tuple[jax.Array, bool]:
        return _send_unmapped(sink, stop)(outs, ins, seen), False

    return good


def _send_to_host(sink: Sink, stop: Stop | None, outs: Arrays, ins: Arrays, seen: Arrays) -> jax.Array:
    shapes = [tuple(array.shape) for array in (*outs, *ins)]
    whole, count = _takes_whole_arrays(sink), len(outs)

    def host(seen: Arrays, *sent: object) -> HostArray:
        parts = [np.asarray(part) for part in sent]
        parts = [np.asarray(part) for part in sink.parts(parts[:count], parts[count:])] if whole else parts
        if sink.receive(shapes, parts) and stop is not None:
            stop.open(seen)
        return np.asarray(True)

    def send_concrete(outs: Arrays, ins: Arrays, seen: Arrays) -> jax.Array:
        sent = [*outs, *ins] if whole else sink.parts(outs, ins)
        answer: jax.Array = jax.pure_callback(host, jax.ShapeDtypeStruct((), np.dtype(bool)), seen, *sent)
        return answer

    if sink.worth is None:
        return send_concrete(outs, ins, seen)
    # No array from outside: JAX may map over it where it maps over conditions, and `custom_vmap` refuses that.
    result: jax.Array = jax.lax.cond(sink.worth(outs), send_concrete, lambda *_: jnp.ones((), bool), outs, ins, seen)
    return result


def _takes_whole_arrays(sink: Sink) -> bool:
    """Whether arrays are sent as they are."""
    return sink.on_host and jax.device_count() == 1
