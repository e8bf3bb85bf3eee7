"""One call of one scope: its claims as read there, and what names meant in it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property

from shapecheck.model import ArrayValue, Call, Claim, Module, NamedSize, Observation, arrays_in
from shapecheck.shapes import (
    Bindings,
    Dim,
    EvaluationError,
    Expression,
    NamedDim,
    Size,
    Spec,
    SymbolicDim,
    evaluate,
    parse_spec,
)
from shapecheck.shapes.expressions import Binary, Name
from shapecheck.shapes.expressions import names as names_in
from shapecheck.verdicts.claim_outcome import BoundSize, ClaimOutcomes
from shapecheck.verdicts.loop_turns import Turns
from shapecheck.verdicts.numeric_samples import Samples
from shapecheck.verdicts.select_arrays import NoArrayError, select_described

# Parts of names for how much there is of something, which differs from call to call.
_EXTENTS = frozenset({"batch", "bs", "time", "seq", "sequence", "seqlen", "len", "length", "steps", "frames", "tokens"})


class CallReader:
    """The names of one call. `outer` is the reader of the enclosing function's call, whose names comments may use.

    `memo` holds what annotations bound, as jaxtyping has it; `fresh` what comments bound among themselves. `vague` are
    words that docstrings use for the axes of each of several parameters. What the function's `own` variables say
    the calls around it cannot say. `meanings` are sizes that names have in all comments alike.
    """

    def __init__(self, module: Module, call: Call, samples: Samples, outer: CallReader | None) -> None:
        self.module, self.call, self.samples, self.outer = module, call, samples, outer
        # A nested function reads the dims of the functions around it, as it reads their variables.
        self.own = module.scopes[call.scope].sizes
        self.outcomes = ClaimOutcomes()
        origins = outer.origins.items() if outer is not None else ()
        self.origins: dict[str, BoundSize] = {name: origin for name, origin in origins if name not in self.own}
        self.fresh: dict[str, Size] = {}
        self.meanings: dict[str, Size] = {}
        self.means_arguments = False  # comments that may be about an argument are
        self.left_out = 0  # leading axes that comments leave out alike
        self.made_of: Set[int] = frozenset()  # claims of parameters whose arguments were made as they say
        self.of_records: Mapping[str, tuple[BoundSize, Size]] = {}  # names in the fields of what arguments are
        self.numbers_of_records: Set[Size] = frozenset()  # and the numbers there
        self.bound_by_result: dict[str, tuple[int, ArrayValue]] = {}  # what it alone binds: its claim, and the value
        self.vague: frozenset[tuple[str, ...]] = frozenset()
        self.fresh_origins: dict[str, BoundSize] = {}
        self.seen: dict[int, list[Observation]] = defaultdict(list)
        for observation in call.observations:
            self.seen[observation.site].append(observation)
        self._note_later_sizes()
        self.turns = Turns(module.sites, call.observations)
        self.memo = Bindings()
        if outer is not None:
            self.memo = outer.memo.without({*self.own, *self._names_of_aliases()})

    def _note_later_sizes(self) -> None:
        """Let claims see the sizes that their names are given further down, where they have one."""
        for claim in (self.module.claims[index] for index in self.seen_claims):
            later = [name for name in claim.later_sizes if len(self.visible_sizes.get(name, ())) == 1]
            named = [NamedSize(name, self.visible_sizes[name][0], name) for name in later]
            for site in claim.sites if named else ():
                self.seen[site] = [with_names(each, named) for each in self.seen.get(site, ())]

    def _names_of_aliases(self) -> frozenset[str]:
        """The names that stand in aliases alone of this function's annotations: they are none of the one around it.

        `Vector = Float[Array, "n"]` is any vector, also inside of a function whose own variable is called n.
        """
        return self._names_in(lambda claim: claim.by_alias, scope=self.call.scope)

    def general_names(self) -> frozenset[str]:
        """The names that only aliases for any array of a rank bind in this call."""
        return self._names_in(lambda claim: claim.general)

    def _names_in(self, is_meant: Callable[[Claim], bool], scope: int | None = None) -> frozenset[str]:
        """The names in those annotations that are meant, and in no others; of one scope or of all that were seen."""
        names: dict[bool, set[str]] = {True: set(), False: set()}
        for claim in (self.module.claims[index] for index in self.seen_claims):
            if claim.notation == "annotation" and scope in (None, claim.scope):
                names[is_meant(claim)].update(parse_spec(claim.spec).names())
        return frozenset(names[True] - names[False])

    def sizes_around(self) -> frozenset[str]:
        """The names that this function gives to sizes itself, or those around it do."""
        return frozenset(self.own) | (self.outer.sizes_around() if self.outer is not None else frozenset())

    def claims(self) -> tuple[dict[int, Claim], dict[int, Claim]]:
        """The observed claims by index: annotations that jaxtyping would check, and all the others.

        Field annotations are among the others: jaxtyping does not check them, and they may use integer fields.
        """
        formal: dict[int, Claim] = {}
        other: dict[int, Claim] = {}
        for index in self.seen_claims:
            claim = self.module.claims[index]
            is_field = self.module.sites[claim.sites[0]].kind == "field"
            (formal if claim.notation == "annotation" and not is_field else other)[index] = claim
        return formal, other

    @cached_property
    def seen_claims(self) -> tuple[int, ...]:
        """The indices of the claims of which a site was observed. Of a module's claims most calls see a few."""
        by_site = self.module.claims_by_site
        return tuple(sorted({index for site, seen in self.seen.items() if seen for index in by_site.get(site, ())}))

    def spec(self, claim: Claim) -> Spec:
        """What a comment claims: an expression that nothing can evaluate stands for one size, wherever it is written.

        Where nothing says what H is, `H/2` in two comments is still the same size.
        """
        return self._close_spec(parse_spec(claim.spec))

    def specs(self, claim: Claim) -> tuple[Spec, ...]:
        """All readings of a comment, as `spec` has the first."""
        first = self.spec(claim)
        others = (self._close_spec(parse_spec(text)) for text in claim.readings)
        return (first, *others, *(self._either(first) if claim.notation != "annotation" else ()))

    def _either(self, spec: Spec) -> Iterator[Spec]:
        """The readings of `n/m` as n or m, where these are two axes of one array: hardly any size is their ratio."""
        pairs = {place: pair for place, dim in enumerate(spec.dims) if (pair := _ratio(dim)) is not None}
        if not pairs or not all(map(self._stand_together, pairs.values())):
            return
        for side in range(2):
            yield Spec(tuple(NamedDim(pairs[i][side]) if i in pairs else dim for i, dim in enumerate(spec.dims)))

    def _stand_together(self, pair: tuple[str, str]) -> bool:
        specs = (parse_spec(self.module.claims[index].spec) for index in self.seen_claims)
        return any({*map(NamedDim, pair)} <= {*spec.dims} for spec in specs)

    @cached_property
    def visible_sizes(self) -> Mapping[str, Sequence[str]]:
        """The sizes that integers had anywhere in this call, by their names: a loop shows the same ones many times."""
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for observation in self.call.observations:
            for named in observation.names:
                found[named.name].setdefault(named.size)
        return {name: tuple(sizes) for name, sizes in found.items()}

    def former_sizes(self, spec: Spec, name: str, now: Sequence[Size]) -> Iterator[Size]:
        """Sizes that a name had before, of which an expression says what it has now: `n - 1` behind `n -= 1`."""
        found = (dim.expression for dim in spec.dims if isinstance(dim, SymbolicDim))
        expressions = [each for each in found if {*names_in(each)} == {name}]
        for text in self.visible_sizes.get(name, ()) if expressions else ():
            size = self.samples.size(text)
            if (
                size is not None
                and size not in now
                and any(self._is_now(each, name, size, now) for each in expressions)
            ):
                yield size

    def _is_now(self, expression: Expression, name: str, before: Size, now: Sequence[Size]) -> bool:
        try:
            return evaluate(expression, {name: before}, self.samples.count) in now
        except EvaluationError:
            return False

    def _close_spec(self, spec: Spec) -> Spec:
        if not any(isinstance(dim, SymbolicDim) for dim in spec.dims):
            return spec
        return Spec(tuple(NamedDim(str(dim)) if self.open_names(dim) else dim for dim in spec.dims))

    def open_names(self, dim: Dim) -> tuple[str, ...]:
        """The names in an expression that nothing in this call says the size of."""
        names = Spec((dim,)).names() if isinstance(dim, SymbolicDim) and not dim.broadcastable else ()
        return tuple(n for n in names if n not in self._bound_names and self.outer_lookup(n) is None)

    @cached_property
    def _bound_names(self) -> frozenset[str]:
        """The names that an axis has, or an integer that is visible somewhere in this call."""
        claims = (self.module.claims[index] for index in self.seen_claims)
        axes = (name for claim in claims for name in parse_spec(claim.spec).free_names())
        return frozenset(itertools.chain(axes, self.visible_sizes))

    def lookup(self, name: str) -> Size | None:
        """What a name means in this call or in those around it."""
        for space in (self.memo.single, self.fresh):
            if name in space:
                return space[name]
        return self.outer_lookup(name)

    def outer_lookup(self, name: str) -> Size | None:
        """What a name means in the calls around this one, unless it is a variable of this one's own."""
        return self.outer.lookup(name) if self.outer is not None and name not in self.own else None

    def integers_around(self, name: str) -> tuple[Size, ...]:
        """The integers of a name that are visible in the calls around this one: `self.n` there is what `n` is here."""
        if self.outer is None or name in self.own:
            return ()
        sizes = map(self.samples.size, self.outer.visible_sizes.get(name, ()))
        return (*(size for size in sizes if size is not None), *self.outer.integers_around(name))

    def candidates(self, claim: Claim, name: str, names: Sequence[NamedSize]) -> list[Size]:
        """The annotation's binding, and the integers of that name that are visible at an observation.

        What a constructor did not save counts only where no annotation binds the name, nor another method for itself.
        A docstring speaks to callers, who know an attribute rather than a local variable of the same name.
        """
        if name in self.meanings:
            return [self.meanings[name]]
        found = [self.memo.single[name]] if name in self.memo.single else []
        for named in names if claim.notation == "docstring" else _without_shadowed(names):
            if named.source.endswith(".__init__") and (name in self.memo.single or name in self._bound_by_methods):
                continue
            size = self.samples.size(named.size) if named.name == name else None
            if size is not None and size not in found:
                found.append(size)
        return found

    @cached_property
    def _bound_by_methods(self) -> frozenset[str]:
        """The names that other methods of this class bind to sizes of their own: no local of its constructor is meant.

        `H, W = feat_sizes` there, and `B, T, H, C = x.shape` in a method: H has no one meaning.
        """
        scopes = self.module.scopes
        owner = scopes[self.call.scope].parent
        methods = (scope for scope in scopes if scope.parent == owner and scope.kind == "function")
        is_class = owner is not None and scopes[owner].kind == "class"
        bound = (scope.sizes for scope in methods if is_class and not scope.qualname.endswith(".__init__"))
        return frozenset(itertools.chain.from_iterable(bound))

    def two_meanings(self) -> dict[str, tuple[Size, Size]]:
        """The names that the annotation of the result alone binds, and that an attribute has with another size.

        The size of the result's axis, then the attribute's.
        """
        found: dict[str, tuple[Size, Size]] = {}
        seen = (_without_shadowed(observation.names) for observation in self.call.observations)
        for named in itertools.chain.from_iterable(seen):
            size = self.samples.size(named.size)
            is_attribute = "." in named.source and not named.source.endswith(".__init__")
            if named.name in self.bound_by_result and is_attribute and size not in (None, self.memo.single[named.name]):
                found.setdefault(named.name, (self.memo.single[named.name], size))
        return found

    def is_setting(self, claim: Claim, name: str, names: Sequence[NamedSize]) -> bool:
        """Whether the integer that a docstring's name has may be something else than the size of this axis.

        `[batch, seq_len]` tells of the argument that comes; `self.config.seq_len` may be the most that there can be.
        And an integer of 1 is a degree, a power or a count as often as a size. So it is where several claims of the
        docstring agree on another size than `self.L` has.
        """
        kind = self.module.sites[claim.sites[0]].kind
        if claim.notation != "docstring" or kind not in ("param", "return") or name in self.memo.single:
            return False
        visible = [named for named in names if named.name == name]
        if all(named.size == "1" for named in visible):
            return True
        if not all(named.source.startswith("self.") for named in visible):
            return False
        is_extent = not _EXTENTS.isdisjoint(name.lower().split("_"))
        return (kind == "param" and is_extent) or self._agree_on_another(name, {named.size for named in visible})

    def _agree_on_another(self, name: str, sizes: Set[str]) -> bool:
        """Whether several claims of the docstring give this name to axes that all have one size, and none of these.

        One has it twice, as `(L, L)` does: that two axes are equal is what it says.
        """
        found: dict[int, set[str]] = {}
        is_square = False
        for index in self.seen_claims:
            claim = self.module.claims[index]
            dims = parse_spec(claim.spec).dims if claim.notation == "docstring" else ()
            is_square |= dims.count(NamedDim(name)) > 1
            for site in (site for site in claim.sites if NamedDim(name) in dims):
                values = [value for each in self.seen.get(site, ()) for value in arrays_in(each.value)]
                shapes = [value.shape for value in values if len(value.shape) == len(dims)]
                axes = [
                    size for shape in shapes for dim, size in zip(dims, shape, strict=True) if dim == NamedDim(name)
                ]
                if axes:
                    found.setdefault(index, set()).update(axes)
        every = set().union(*found.values())
        return is_square and len(found) > 1 and len(every) == 1 and every.isdisjoint(sizes)

    def fresh_names(self) -> Iterator[tuple[str, BoundSize, Size]]:
        """The names that comments alone bind, where that came from, and their sizes."""
        for name, size in self.fresh.items():
            if (origin := self.fresh_origins.get(name)) is not None:
                yield name, origin, size

    def axes_of(self, claim: Claim) -> Iterator[tuple[str, str, bool]]:
        """The dims of a claim that holds, names and what is computed of them, and the sizes that they had.

        With each, whether the code itself gives its names to integers.
        """
        dims = parse_spec(claim.spec).dims
        for observation in self.seen.get(next((s for s in claim.sites if s in self.seen), -1), ()):
            integers = {named.name for named in observation.names}
            try:
                readings = select_described(claim, observation.value)
            except NoArrayError:
                continue
            for part in readings[0]:
                if len(part.value.shape) == len(dims):
                    for dim, size in zip(dims, part.value.shape, strict=True):
                        if isinstance(dim, NamedDim | SymbolicDim):
                            yield str(dim), size, integers.issuperset(Spec((dim,)).names())

    def bound_sizes(self, spec: Spec, names: Sequence[NamedSize]) -> tuple[BoundSize, ...]:
        """What the names of a spec meant, for the message."""
        found = (self._origin(name, names) for name in spec.names())
        return tuple(b for b in found if b is not None)

    def _origin(self, name: str, names: Sequence[NamedSize]) -> BoundSize | None:
        visible = next((n for n in names if n.name == name), None)
        if visible is not None and self.samples.size(visible.size) == self.meanings.get(name, ()):
            return BoundSize(name, visible.size, visible.source)
        if name in self.origins:
            return self.origins[name]
        if visible is not None:
            return BoundSize(name, visible.size, visible.source)
        if name in self.fresh_origins:
            return self.fresh_origins[name]
        return self.outer._origin(name, ()) if self.outer is not None and name not in self.own else None

    def names_of_result(self) -> tuple[str, ...]:
        """The names that nothing but the annotation of the result binds."""
        return tuple(name for name in self.bound_by_result if name in self.memo.single)


def with_names(observation: Observation, names: Sequence[NamedSize]) -> Observation:
    """An observation with the integers that are visible elsewhere too: `B, T = x.shape` names them for x."""
    have = {named.name for named in observation.names}
    return replace(observation, names=(*observation.names, *(n for n in names if n.name not in have)))


def _without_shadowed(names: Sequence[NamedSize]) -> list[NamedSize]:
    """The integers without the attributes that a local variable of the same name hides."""
    local = {named.name for named in names if named.source == named.name}
    return [named for named in names if named.name not in local or named.source == named.name]


def _ratio(dim: Dim) -> tuple[str, str] | None:
    """The names of a dim such as `n/m`."""
    expression = dim.expression if isinstance(dim, SymbolicDim) else None
    if not isinstance(expression, Binary) or expression.operator != "/":
        return None
    left, right = expression.left, expression.right
    return (left.text, right.text) if isinstance(left, Name) and isinstance(right, Name) else None
