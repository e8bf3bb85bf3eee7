"""What each stage of an evaluation costs, as the jaxpr of the evaluation tells.

Every stage runs in a named scope with its number, and JAX notes with each equation in which scopes it came about. It
notes so of the equations of derivatives too: `transpose(jvp(...))` stands around the scope of what they derive from.
The equations of a jaxpr inside of another, a loop's body or a jitted function, know only the scopes inside of it (in
JAX 0.5 to 0.12, but for what its flag `jax_remat3` traces), and belong to the stages of the outer equation besides.
`eqn.source_info` is JAX's own: where it is not there, all counts for the whole.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jax import export

from shapecheck.evaluate.jax_internals import operation_of
from shapecheck.evaluate.stages.operation_cost import Flops, dearer, is_counted, operations

if TYPE_CHECKING:
    from jax.extend.core import JaxprEqn

REUSED = "shapecheck#reused"
"""The scope in which a jaxpr is traced that several equations may hold: of what is around, it knows one place only."""

_SCOPE = re.compile(r"shapecheck#(\d+|reused)")


def scope_name(number: int) -> str:
    """The name of the scope in which the stage with this number runs."""
    return f"shapecheck#{number}"


@dataclass
class _PartCost:
    """What a piece of an evaluation costs in all, and each stage inside of it.

    A stage is known by its number and the jaxpr that it came about in: from its caches JAX puts one jaxpr into several
    equations, and what the stage costs is what one of them does. Jaxprs of derivatives are others, and add to it.
    """

    flops: Flops = 0
    inside: dict[tuple[int, int], _PartCost] = field(default_factory=dict)

    def times(self, number: object) -> _PartCost:
        return _PartCost(self.flops * number, {key: part.times(number) for key, part in self.inside.items()})

    def of(self, number: int) -> list[_PartCost]:
        return [part for (other, _), part in self.inside.items() if other == number]


@dataclass(frozen=True)
class Cost:
    """What a stage costs: its share in a jaxpr and in those of its derivatives. `anywhere` has all stages' shares."""

    parts: Sequence[_PartCost]
    anywhere: Mapping[int, Sequence[_PartCost]]

    @property
    def flops(self) -> int | str:
        """The number of operations, as text where free sizes enter."""
        found = sum(part.flops for part in self.parts)
        return str(found) if export.is_symbolic_dim(found) else int(found)

    def stage(self, number: int) -> Cost:
        """What the stage with this number costs, which ran inside of this one."""
        found = [each for part in self.parts for each in part.of(number)]
        return Cost(found or self.anywhere.get(number, ()), self.anywhere)


def cost(jaxpr: object) -> Cost:
    """What a whole evaluation costs: loops as often as they run, of branches the dearest, `while` loops one turn."""
    whole = _count_flops(jaxpr, {})
    anywhere: dict[int, Sequence[_PartCost]] = {}
    todo = [whole]
    for part in todo:  # which grows
        for number, _ in part.inside:
            anywhere.setdefault(number, part.of(number))
        todo += part.inside.values()
    return Cost([whole], anywhere)


def _count_flops(jaxpr: Any, known: dict[int, _PartCost]) -> _PartCost:
    """What a jaxpr costs. `known` has those that were counted before."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)  # a closed one
    home = id(jaxpr)
    if home not in known:
        whole = _PartCost()
        for equation in jaxpr.eqns:
            found = _equation(equation, known)
            whole.flops += found.flops
            around: list[tuple[int | None, _PartCost]] = [(None, whole)]
            for number in _stages(equation):
                part = around[-1][1].inside.setdefault((number, home), _PartCost())
                part.flops += found.flops
                around.append((number, part))
            _put_inside(around, found.inside)
        known[home] = whole
    return known[home]


def _put_inside(
    around: Sequence[tuple[int | None, _PartCost]], inside: Mapping[tuple[int, int], _PartCost], depth: int = -1
) -> None:
    """Put what an equation holds into the stages `around` it, into the innermost one at first.

    With the flag `jax_remat3` (JAX 0.12) what it holds knows the scopes around the equation besides its own: such a
    stage is the one around, and what stands in it belongs there.
    """
    for key, part in inside.items():
        same = next((place for place, (number, _) in enumerate(around) if number == key[0]), None)
        if same is None:
            around[depth][1].inside.setdefault(key, part)
        else:
            _put_inside(around, part.inside, same)


def _equation(equation: JaxprEqn, known: dict[int, _PartCost]) -> _PartCost:
    name, params = operation_of(equation)
    if is_counted(name):
        return _PartCost(operations(equation))
    parts = [_count_flops(jaxpr, known) for jaxpr in _jaxprs(name, params)]
    flops = sum(part.flops for part in parts)
    if name == "cond":
        flops = 0
        for part in parts:
            flops = dearer(flops, part.flops)
    whole = _PartCost(flops)
    for part in parts:
        for key, inner in part.inside.items():
            whole.inside.setdefault(key, inner)
    times = _times(name, params)
    return whole if isinstance(times, int) and times == 1 else whole.times(times)


def _jaxprs(name: str, params: Mapping[str, Any]) -> Iterator[object]:
    """Those inside of an equation, whatever its primitive calls them."""
    if name == "custom_linear_solve":  # whose others tell how to solve and to derive it
        params = {"solve": params["jaxprs"].solve}
    for value in params.values():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(each, "eqns"):
                yield each


def _times(name: str, params: Mapping[str, object]) -> object:
    """How often what is inside of an equation runs: on how many devices, too."""
    if name == "scan":
        return params["length"]
    if name == "shard_map":
        return getattr(params["mesh"], "size", 1)
    if name == "xla_pmap":
        return params["global_axis_size"]
    if name == "pallas_call":
        grid = getattr(params.get("grid_mapping"), "grid", ())
        return math.prod(size for size in grid if isinstance(size, int))
    return 1


def _stages(equation: JaxprEqn) -> list[int]:
    """The numbers of the stages around an equation in its jaxpr, outermost first."""
    found: list[int] = []
    for text in _SCOPE.findall(str(getattr(equation.source_info, "name_stack", ""))):
        if text == "reused":
            found = []
            continue
        number = int(text)
        # That of a recomputation starts anew from the outermost scope; no stage is inside of itself.
        found = [*found[: found.index(number)], number] if number in found else [*found, number]
    return found
