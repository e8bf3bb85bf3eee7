"""One call of one scope: its annotations against what was observed, and what names meant in it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from functools import cached_property

from shapecheck.model import ArrayValue, Call, Claim, Module, NamedSize, Observation, Value, arrays_in
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
    match,
    parse_spec,
)
from shapecheck.shapes.expressions import Binary, Name
from shapecheck.shapes.expressions import names as names_in
from shapecheck.shapes.solve_dims import solve_expression
from shapecheck.verdicts.claim_outcome import BoundSize, ClaimOutcomes, Mismatch, Reason, dtype_fits
from shapecheck.verdicts.loop_turns import Turns
from shapecheck.verdicts.numeric_samples import Samples
from shapecheck.verdicts.select_arrays import (
    NoArrayError,
    SelectedArray,
    WrongStructureError,
    pytrees,
    select_annotated,
    select_described,
    skeleton,
)

# Parts of names for how much there is of something, which differs from call to call.
_EXTENTS = frozenset({"batch", "bs", "time", "seq", "sequence", "seqlen", "len", "length", "steps", "frames", "tokens"})

OTHER_SIZES = "it holds only if its names have other sizes than in the function around it"

ONE_NUMBER = "it was seen as one number alone, which may stand for the array"


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
        self._bound_by_result: dict[str, tuple[int, ArrayValue]] = {}  # the claim, and the value
        self._bound_by: dict[str, int] = {}  # the annotation that was the first to have a name
        self.vague: frozenset[tuple[str, ...]] = frozenset()
        self.fresh_origins: dict[str, BoundSize] = {}
        self.seen: dict[int, list[Observation]] = defaultdict(list)
        for observation in call.observations:
            self.seen[observation.site].append(observation)
        self.turns = Turns(module.sites, call.observations)
        self.memo = Bindings()
        if outer is not None:
            self.memo = outer.memo.without({*self.own, *self._names_of_aliases()})

    def _names_of_aliases(self) -> frozenset[str]:
        """The names that stand in aliases alone of this function's annotations: they are none of the one around it.

        `Vector = Float[Array, "n"]` is any vector, also inside of a function whose own variable is called n.
        """
        names: dict[bool, set[str]] = {True: set(), False: set()}
        for claim in (self.module.claims[index] for index in self.seen_claims):
            if claim.notation == "annotation" and claim.scope == self.call.scope:
                names[claim.by_alias].update(parse_spec(claim.spec).names())
        return frozenset(names[True] - names[False])

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

    def _with_solved(self, spec: Spec, shape: Sequence[Size], memo: Bindings, env: Mapping[str, Size]) -> Bindings:
        """These bindings, and names that only a sum or product has until now: `t+1` says what `t` is."""
        names = memo.single.keys() | env.keys()
        for dim, size in zip(spec.dims, shape, strict=True) if len(spec.dims) == len(shape) else ():
            if isinstance(dim, SymbolicDim) and not dim.broadcastable and names.isdisjoint(Spec((dim,)).names()):
                for name, solved in solve_expression(dim.expression, size).items():
                    memo = memo.with_single(name, memo.single.get(name, solved))
        return memo

    def _close_annotation(self, spec: Spec, known: Set[str]) -> Spec:
        """What an annotation claims whose expressions have names that no other one binds, as `spec` has it of comments.

        jaxtyping refuses these. But where nothing says what N is, `N//2+1` in two annotations is still the same size.
        """
        names = self._annotated_names | known
        return Spec(
            tuple(
                NamedDim(str(dim))
                if isinstance(dim, SymbolicDim) and not dim.broadcastable and not names.issuperset(Spec((dim,)).names())
                else dim
                for dim in spec.dims
            )
        )

    @cached_property
    def _annotated_names(self) -> frozenset[str]:
        """The names that an axis of some annotated parameter or result of this call has."""
        formal, _ = self.claims()
        return frozenset(name for claim in formal.values() for name in parse_spec(claim.spec).free_names())

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
            if (
                named.name in self._bound_by_result
                and is_attribute
                and size not in (None, self.memo.single[named.name])
            ):
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

    def read_annotations(self, claims: Mapping[int, Claim]) -> None:
        """Check annotations in the order of evaluation; each binds names for those after it.

        Where more of those on variables deny what the first ones bind than there are of these, and an argument has
        another size by that name, it is these that are false: after `fx: Float[Array, "h"]`, which has the width, all
        that is right would be wrong.
        """
        before = self.memo, dict(self.origins), self.outcomes
        self._read_in_order(claims)
        binders = self._denied_binders(claims)
        if not binders:
            return
        usual = self.memo, self.origins, self.outcomes, self._bound_by_result, self._bound_by
        self.memo, self.origins, self.outcomes = before[0], before[1], ClaimOutcomes()
        self._bound_by_result, self._bound_by = {}, {}
        self._read_in_order(claims, binders)
        if len(self.outcomes.bad) >= len(usual[2].bad):
            self.memo, self.origins, self.outcomes, self._bound_by_result, self._bound_by = usual

    def _denied_binders(self, claims: Mapping[int, Claim]) -> set[int]:
        """The claims on local variables that alone bind the names of claims which fail, if these are more."""
        bad = [index for index, each in self.outcomes.bad.items() if each.reason == "dim"]
        names = {name for index in bad for name in parse_spec(claims[index].spec).names()}
        found = {self._bound_by[name] for name in names if name in self._bound_by}
        local = {index for index in found if self.module.sites[claims[index].sites[0]].kind in ("name", "value")}
        of_arguments = self._sizes_in_arguments()
        denied = {name for name in names if self.memo.single.get(name) not in of_arguments.get(name, [None])}
        is_denied = any(self._bound_by.get(name) in local for name in denied & of_arguments.keys())
        return local if is_denied and len(self.outcomes.bad) > len(local) else set()

    def _sizes_in_arguments(self) -> dict[str, list[Size]]:
        """The sizes that axes of arguments have by the names that texts, and the classes of records, give them."""
        found = {name: [size] for name, (_, size) in self.of_records.items()}
        for claim in (self.module.claims[index] for index in self.seen_claims):
            is_of_argument = self.module.sites[claim.sites[0]].kind == "param"
            for name, text, _ in self.axes_of(claim) if is_of_argument else ():
                if (size := self.samples.size(text)) is not None:
                    found.setdefault(name, []).append(size)
        return found

    def _read_in_order(self, claims: Mapping[int, Claim], late: Container[int] = ()) -> None:
        """One that uses what only a later one binds waits for that, and so do those of `late`."""
        by_site: dict[int, list[tuple[int, Claim]]] = defaultdict(list)
        for index, claim in claims.items():
            by_site[claim.sites[0]].append((index, claim))
        waiting: list[tuple[list[tuple[int, Claim]], Observation]] = []
        for observation in self.call.observations:
            if self.module.sites[observation.site].kind in ("called", "yielded"):
                self._read_later(by_site.get(observation.site, ()), observation)
                continue
            together: dict[object, list[tuple[int, Claim]]] = defaultdict(list)
            for index, claim in by_site.get(observation.site, ()):
                together[("alone", index) if claim.group is None else claim.group].append((index, claim))
            for members in together.values():
                if any(i in late for i, _ in members) or self._uses_later_names([claim for _, claim in members]):
                    waiting.append((members, observation))
                else:
                    self._alternatives(members, observation)
        for members, observation in waiting:
            self._alternatives(members, observation)
            for index, claim in members:
                self._blame_result(index, claim)

    def _read_later(self, claims: Sequence[tuple[int, Claim]], observation: Observation) -> None:
        """Check one call of a callable, or one item of an iterator, against all that its annotation says of it.

        Names may mean what they mean in the function around, or something else each time: a callable may be given
        several things. jaxtyping checks none of these, so who wrote it may have meant either.
        """
        around = self.outcomes
        readings: list[ClaimOutcomes] = []
        for memo in (self.memo, Bindings()):
            self.memo, self.outcomes = memo, ClaimOutcomes()
            together: dict[object, list[tuple[int, Claim]]] = defaultdict(list)
            for index, claim in claims:
                together[("alone", index) if claim.group is None else claim.group].append((index, claim))
            for members in together.values():
                self._alternatives(members, observation)
            readings.append(self.outcomes)
        same, anew = readings
        self.outcomes = around
        around.unknown.update(same.unknown)
        if not same.bad:
            around.good |= same.good
        elif anew.bad:
            around.bad.update(anew.bad)
            around.good |= same.good & anew.good
            around.unknown.update(dict.fromkeys(anew.good - same.good, OTHER_SIZES))
        else:
            around.unknown.update(dict.fromkeys((*same.good, *same.bad), OTHER_SIZES))

    def _blame_result(self, index: int, claim: Claim) -> None:
        """Where an argument and a result do not go together, the result is wrong: a call gives what it takes."""
        found = self.outcomes.bad.get(index)
        dims = parse_spec(claim.spec).dims
        is_param = self.module.sites[claim.sites[0]].kind == "param"
        if not is_param or found is None or found.reason != "dim" or found.axis is None or found.axis >= len(dims):
            return
        dim = dims[found.axis]
        names = [name for name in Spec((dim,)).names() if name in self._bound_by_result]
        if not names or not isinstance(found.value, ArrayValue):
            return
        size = found.value.shape[found.axis]
        origin = BoundSize(str(dim), size, f"{claim.target}: {claim.text}", claim.span.line)
        others = (each for each in found.bound if each.name not in names)
        del self.outcomes.bad[index]
        self.outcomes.good.add(index)
        self.blame_result(names[0], origin, *others)

    def names_of_result(self) -> tuple[str, ...]:
        """The names that nothing but the annotation of the result binds."""
        return tuple(name for name in self._bound_by_result if name in self.memo.single)

    def blame_result(self, name: str, *bound: BoundSize) -> None:
        """The annotation of the result is false, which alone binds a name; `bound` is what that means instead."""
        result, value = self._bound_by_result[name]
        dims = parse_spec(self.module.claims[result].spec).dims
        axis = next((i for i, each in enumerate(dims) if isinstance(each, NamedDim) and each.name == name), None)
        self.outcomes.good.discard(result)
        self.outcomes.bad[result] = Mismatch("dim", value, self.call, axis, bound)

    def _uses_later_names(self, claims: Sequence[Claim]) -> bool:
        """Whether nothing has bound a name yet that expressions use, which another annotation binds."""
        for claim in claims:
            dims = parse_spec(claim.spec).dims
            names = {name for dim in dims if isinstance(dim, SymbolicDim) for name in Spec((dim,)).names()}
            if names & self._annotated_names - self.memo.single.keys() - set(parse_spec(claim.spec).free_names()):
                return True
        return False

    def _alternatives(self, members: Sequence[tuple[int, Claim]], observation: Observation) -> None:
        """Claims of one union: the first that fits binds; if none does, all are false."""
        failures: dict[int, Mismatch] = {}
        for index, claim in members:
            try:
                outcome = self._annotation(index, claim, observation)
            except NoArrayError as nothing:
                self.outcomes.unknown[index] = str(nothing)
                continue
            if outcome is None:
                self.outcomes.good.update(i for i, _ in members)
                return
            failures[index] = outcome
        if failures and len(failures) == len(members):
            for index, mismatch in failures.items():
                self.outcomes.bad.setdefault(index, mismatch)

    def _annotation(self, index: int, claim: Claim, observation: Observation) -> Mismatch | None:
        spec = parse_spec(claim.spec)
        env = self._environment(observation.names)
        try:
            is_given = self.module.sites[claim.sites[0]].kind == "param"
            parts = select_annotated(claim, observation.value, is_given=is_given)
        except WrongStructureError as wrong:
            return Mismatch("structure", wrong.value, self.call, way=wrong.way, wanted=wrong.wanted)
        memo = self._with_own_integers(claim, spec, observation)
        solved: set[str] = set()
        trees = pytrees(claim, observation.value) if claim.structure else []
        for part in parts:
            shape = self.samples.shape(part.value.shape)
            if shape is None:
                raise NoArrayError("a size could not be computed")
            leaf = _place_in_tree(part, trees)
            result = match(spec, shape, memo, env=env, count=self.samples.count, leaf=leaf)
            if result.reason == "unbound":
                known = self._with_solved(spec, shape, memo, env)
                solved |= {*map(str, spec.dims), *(known.single.keys() - memo.single.keys())} - {*spec.free_names()}
                closed = self._close_annotation(spec, {*known.single, *env})
                result = match(closed, shape, known, env=env, count=self.samples.count, leaf=leaf)
            if result.reason == "unbound":
                raise NoArrayError(result.detail)
            if not result.ok and claim.or_number and not part.value.shape:
                raise NoArrayError(ONE_NUMBER)
            if not result.ok:
                reason: Reason = "rank" if result.reason == "rank" else "dim"
                bound = self.bound_sizes(spec, observation.names)
                return Mismatch(reason, part.value, self.call, result.dim, bound, way=part.key)
            if not dtype_fits(claim.dtype, part.value):
                return Mismatch("dtype", part.value, self.call, way=part.key)
            # Of the `2*l+1` of each entry of a list every one has an l of its own.
            memo = result.bindings.without(solved) if len(parts) > 1 else result.bindings
        structure = claim.structure.strip()
        for tree, way in trees if structure.isidentifier() else ():
            text = skeleton(tree)
            if memo.structures.get(structure, text) != text:
                return Mismatch("structure", tree, self.call, way=way)
            memo = memo.with_structure(structure, text)
        if claim.sure:  # another may be the sizes of what stands beside it in a union
            self._remember(memo, index, claim, parts[0].value if parts else None)
        return None

    def _with_own_integers(self, claim: Claim, spec: Spec, observation: Observation) -> Bindings:
        """These bindings, and for the annotation of a result the integers among the parameters.

        `def zeros(n: int, d: int) -> Float[Array, "n d"]` means them, though at run time jaxtyping takes any sizes.
        """
        memo = self.memo
        scope = self.module.scopes[self.call.scope]
        if self.module.sites[claim.sites[0]].kind != "return":
            return memo
        for name in spec.free_names():
            is_own = name in scope.parameters and name not in scope.rebound and name not in memo.single
            visible = (n for n in observation.names if is_own and n.name == n.source == name)
            size = next((self.samples.size(named.size) for named in visible), None)
            if size is not None:
                memo = memo.with_single(name, size)
        return memo

    def _remember(self, memo: Bindings, index: int, claim: Claim, value: ArrayValue | None) -> None:
        for name, size in memo.single.items():
            if name not in self.memo.single:
                if self.module.sites[claim.sites[0]].kind == "return" and value is not None:
                    self._bound_by_result[name] = index, value
                source = f"{claim.target}: {claim.text}"
                self._bound_by[name] = index
                self.origins[name] = BoundSize(name, self.samples.text(size), source, claim.span.line)
        self.memo = memo

    def _environment(self, names: Sequence[NamedSize]) -> dict[str, Size]:
        env: dict[str, Size] = {}
        for named in names:
            size = self.samples.size(named.size)
            if size is not None:
                env.setdefault(named.name, size)
        return env


def _place_in_tree(part: SelectedArray, trees: Sequence[tuple[Value, str]]) -> str:
    """Where an array stands in the pytree that has a structure name, by which names with `?` differ; "" without one."""
    ways = [way for _, way in trees if part.key.startswith(way)]
    return (part.key.removeprefix(max(ways, key=len)) or "*") if ways else ""


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
