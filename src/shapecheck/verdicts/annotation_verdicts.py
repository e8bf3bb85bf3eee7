"""One call's annotations: each holds as jaxtyping has it, and binds names for those after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence, Set
from functools import cached_property

from shapecheck.model import ArrayValue, Claim, NamedSize, Observation, Value
from shapecheck.shapes import Bindings, NamedDim, Size, Spec, SymbolicDim, match, parse_spec
from shapecheck.shapes.solve_dims import solve_expression
from shapecheck.verdicts.call_bindings import CallReader
from shapecheck.verdicts.claim_outcome import BoundSize, ClaimOutcomes, Mismatch, Reason, dtype_fits
from shapecheck.verdicts.select_arrays import (
    NoArrayError,
    SelectedArray,
    WrongStructureError,
    pytrees,
    select_annotated,
    skeleton,
)

OTHER_SIZES = "it holds only if its names have other sizes than in the function around it"

ONE_NUMBER = "it was seen as one number alone, which may stand for the array"


class AnnotationJudge:
    """Holds the annotations of one call, by index, against what was observed; its reader keeps what they bind."""

    def __init__(self, reader: CallReader, claims: Mapping[int, Claim]) -> None:
        self.reader, self.claims = reader, claims
        self.samples, self.call, self.sites = reader.samples, reader.call, reader.module.sites
        self._bound_by: dict[str, int] = {}  # the annotation that was the first to have a name

    def judge_claims(self) -> None:
        """Check annotations in the order of evaluation; each binds names for those after it.

        Where more of those on variables deny what the first ones bind than there are of these, and an argument has
        another size by that name, it is these that are false: after `fx: Float[Array, "h"]`, which has the width, all
        that is right would be wrong.
        """
        reader = self.reader
        before = reader.memo, dict(reader.origins), reader.outcomes
        self._read_in_order()
        binders = self._denied_binders()
        if not binders:
            self._blame_mixed_up_result()
            return
        usual = reader.memo, reader.origins, reader.outcomes, reader.bound_by_result, self._bound_by
        reader.memo, reader.origins, reader.outcomes = before[0], before[1], ClaimOutcomes()
        reader.bound_by_result, self._bound_by = {}, {}
        self._read_in_order(binders)
        if len(reader.outcomes.bad) >= len(usual[2].bad):
            reader.memo, reader.origins, reader.outcomes, reader.bound_by_result, self._bound_by = usual

    def _blame_mixed_up_result(self) -> None:
        """A result is false that gives a name of an argument's fields to the size of another one of these.

        `return points.y.sum(1)` of fields "points" and "rows points" has rows, and no "points". A size of its own may
        be a part of the record, and the names of an alias are general ones.
        """
        reader = self.reader
        sizes = {name: size for name, (_, size) in reader.of_records.items()}
        for name in [each for each in reader.names_of_result() if each in sizes]:
            size, claim = reader.memo.single[name], reader.module.claims[reader.bound_by_result[name][0]]
            others = [origin for each, (origin, other) in reader.of_records.items() if each != name and other == size]
            if size != sizes[name] and others and not claim.by_alias:
                blame_result(reader, name, reader.of_records[name][0], others[0])

    def _denied_binders(self) -> set[int]:
        """The claims on local variables that alone bind the names of claims which fail, if these are more."""
        bad = [index for index, each in self.reader.outcomes.bad.items() if each.reason == "dim"]
        names = {name for index in bad for name in parse_spec(self.claims[index].spec).names()}
        found = {self._bound_by[name] for name in names if name in self._bound_by}
        local = {index for index in found if self.sites[self.claims[index].sites[0]].kind in ("name", "value")}
        of_arguments = self._sizes_in_arguments()
        denied = {name for name in names if self.reader.memo.single.get(name) not in of_arguments.get(name, [None])}
        is_denied = any(self._bound_by.get(name) in local for name in denied & of_arguments.keys())
        return local if is_denied and len(self.reader.outcomes.bad) > len(local) else set()

    def _sizes_in_arguments(self) -> dict[str, list[Size]]:
        """The sizes that axes of arguments have by the names that texts, and the classes of records, give them."""
        found = {name: [size] for name, (_, size) in self.reader.of_records.items()}
        for claim in (self.reader.module.claims[index] for index in self.reader.seen_claims):
            is_of_argument = self.sites[claim.sites[0]].kind == "param"
            for name, text, _ in self.reader.axes_of(claim) if is_of_argument else ():
                if (size := self.samples.size(text)) is not None:
                    found.setdefault(name, []).append(size)
        return found

    def _read_in_order(self, late: Container[int] = ()) -> None:
        """One that uses what only a later one binds waits for that, and so do those of `late`."""
        by_site: dict[int, list[tuple[int, Claim]]] = defaultdict(list)
        for index, claim in self.claims.items():
            by_site[claim.sites[0]].append((index, claim))
        waiting: list[tuple[list[tuple[int, Claim]], Observation]] = []
        for observation in self.call.observations:
            if self.sites[observation.site].kind in ("called", "yielded"):
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

    @cached_property
    def _annotated_names(self) -> frozenset[str]:
        """The names that an axis of some annotated parameter or result of this call has."""
        return frozenset(name for claim in self.claims.values() for name in parse_spec(claim.spec).free_names())

    def _uses_later_names(self, claims: Sequence[Claim]) -> bool:
        """Whether nothing has bound a name yet that expressions use, which another annotation binds."""
        for claim in claims:
            dims = parse_spec(claim.spec).dims
            names = {name for dim in dims if isinstance(dim, SymbolicDim) for name in Spec((dim,)).names()}
            bound = self.reader.memo.single.keys() | {*parse_spec(claim.spec).free_names()}
            if names & self._annotated_names - bound:
                return True
        return False

    def _read_later(self, claims: Sequence[tuple[int, Claim]], observation: Observation) -> None:
        """Check one call of a callable, or one item of an iterator, against all that its annotation says of it.

        Names may mean what they mean in the function around, or something else each time: a callable may be given
        several things. jaxtyping checks none of these, so who wrote it may have meant either.
        """
        around = self.reader.outcomes
        readings: list[ClaimOutcomes] = []
        for memo in (self.reader.memo, Bindings()):
            self.reader.memo, self.reader.outcomes = memo, ClaimOutcomes()
            together: dict[object, list[tuple[int, Claim]]] = defaultdict(list)
            for index, claim in claims:
                together[("alone", index) if claim.group is None else claim.group].append((index, claim))
            for members in together.values():
                self._alternatives(members, observation)
            readings.append(self.reader.outcomes)
        same, anew = readings
        self.reader.outcomes = around
        around.unknown.update(same.unknown)
        if not same.bad:
            around.good |= same.good
        elif anew.bad:
            around.bad.update(anew.bad)
            around.good |= same.good & anew.good
            around.unknown.update(dict.fromkeys(anew.good - same.good, OTHER_SIZES))
        else:
            around.unknown.update(dict.fromkeys((*same.good, *same.bad), OTHER_SIZES))

    def _alternatives(self, members: Sequence[tuple[int, Claim]], observation: Observation) -> None:
        """Claims of one union: the first that fits binds; if none does, all are false."""
        failures: dict[int, Mismatch] = {}
        for index, claim in members:
            try:
                outcome = self._annotation(index, claim, observation)
            except NoArrayError as nothing:
                self.reader.outcomes.unknown[index] = str(nothing)
                continue
            if outcome is None:
                self.reader.outcomes.good.update(i for i, _ in members)
                return
            failures[index] = outcome
        if failures and len(failures) == len(members):
            mixed = self._failures_of_mixed(members, observation)
            if mixed is None:
                self.reader.outcomes.good.update(failures)
                return
            for index, mismatch in (mixed or failures).items():
                self.reader.outcomes.bad.setdefault(index, mismatch)

    def _annotation(self, index: int, claim: Claim, observation: Observation) -> Mismatch | None:
        try:
            parts, trees = self._parts(claim, observation)
        except WrongStructureError as wrong:
            return Mismatch("structure", wrong.value, self.call, way=wrong.way, wanted=wrong.wanted)
        memo = self._with_own_integers(claim, parse_spec(claim.spec), observation)
        solved: set[str] = set()
        for part in parts:
            found = self._part(claim, part, trees, memo, observation, solved)
            if isinstance(found, Mismatch):
                return found
            # Of the `2*l+1` of each entry of a list every one has an l of its own.
            memo = found.without(solved) if len(parts) > 1 else found
        found = self._structures(claim, trees, memo)
        if isinstance(found, Mismatch):
            return found
        if claim.sure:  # another may be the sizes of what stands beside it in a union
            self._remember(found, index, claim, parts[0].value if parts else None)
        return None

    def _failures_of_mixed(
        self, members: Sequence[tuple[int, Claim]], observation: Observation
    ) -> dict[int, Mismatch] | None:
        """How a union fails of which none fits all of several arrays, each of which may be as another member says.

        So it is of `PyTree[Float[Array, "n"] | Int[Array, "n"]]`. None if it does not fail; empty if it is no such one.
        """
        first = members[0][1]
        if len(members) == 1 or any((c.select, c.structure) != (first.select, first.structure) for _, c in members):
            return {}
        try:
            (parts, trees), *others = (self._parts(claim, observation) for _, claim in members)
        except (NoArrayError, WrongStructureError):
            return {}
        if len(parts) == 1 or any(each != parts for each, _ in others):
            return {}
        memo = self.reader.memo
        for part in parts:
            found = {index: self._part(claim, part, trees, memo, observation, set()) for index, claim in members}
            fitting = [each for each in found.values() if not isinstance(each, Mismatch)]
            if not fitting:
                return {index: each for index, each in found.items() if isinstance(each, Mismatch)}
            memo = fitting[0]
        whole = self._structures(first, trees, memo)
        if isinstance(whole, Mismatch):
            return {index: whole for index, _ in members}
        if all(claim.sure for _, claim in members):
            self._remember(whole, *members[0], parts[0].value)
        return None

    def _parts(
        self, claim: Claim, observation: Observation
    ) -> tuple[Sequence[SelectedArray], Sequence[tuple[Value, str]]]:
        """The arrays that an annotation is about, and the pytrees that have its structure's name.

        Raises NoArrayError if there are none, and WrongStructureError of a value that is no such container.
        """
        is_given = self.sites[claim.sites[0]].kind == "param"
        parts = select_annotated(claim, observation.value, is_given=is_given)
        return parts, pytrees(claim, observation.value) if claim.structure else []

    def _part(
        self,
        claim: Claim,
        part: SelectedArray,
        trees: Sequence[tuple[Value, str]],
        memo: Bindings,
        observation: Observation,
        solved: set[str],
    ) -> Mismatch | Bindings:
        """What the names mean after one array, or how it fails; names that only its sums have are noted as `solved`."""
        spec = parse_spec(claim.spec)
        env = self._environment(observation.names)
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
            bound = self.reader.bound_sizes(spec, observation.names)
            return Mismatch(reason, part.value, self.call, result.dim, bound, way=part.key)
        if not dtype_fits(claim.dtype, part.value):
            return Mismatch("dtype", part.value, self.call, way=part.key)
        return result.bindings

    def _structures(self, claim: Claim, trees: Sequence[tuple[Value, str]], memo: Bindings) -> Mismatch | Bindings:
        """What the name of a structure means then, or which pytree has another."""
        structure = claim.structure.strip()
        for tree, way in trees if structure.isidentifier() else ():
            text = skeleton(tree)
            if memo.structures.get(structure, text) != text:
                return Mismatch("structure", tree, self.call, way=way)
            memo = memo.with_structure(structure, text)
        return memo

    def _with_own_integers(self, claim: Claim, spec: Spec, observation: Observation) -> Bindings:
        """These bindings, and for the annotation of a result the integers among the parameters.

        `def zeros(n: int, d: int) -> Float[Array, "n d"]` means them, though at run time jaxtyping takes any sizes.
        """
        memo = self.reader.memo
        scope = self.reader.module.scopes[self.call.scope]
        if self.sites[claim.sites[0]].kind != "return":
            return memo
        for name in spec.free_names():
            is_own = name in scope.parameters and name not in scope.rebound and name not in memo.single
            visible = (n for n in observation.names if is_own and n.name == n.source == name)
            size = next((self.samples.size(named.size) for named in visible), None)
            if size is not None:
                memo = memo.with_single(name, size)
        return memo

    def _environment(self, names: Sequence[NamedSize]) -> dict[str, Size]:
        env: dict[str, Size] = {}
        for named in names:
            size = self.samples.size(named.size)
            if size is not None:
                env.setdefault(named.name, size)
        return env

    def _with_solved(self, spec: Spec, shape: Sequence[Size], memo: Bindings, env: Mapping[str, Size]) -> Bindings:
        """These bindings, and names that only a sum or product has until now: `t+1` says what `t` is."""
        names = memo.single.keys() | env.keys()
        for dim, size in zip(spec.dims, shape, strict=True) if len(spec.dims) == len(shape) else ():
            if isinstance(dim, SymbolicDim) and not dim.broadcastable and names.isdisjoint(Spec((dim,)).names()):
                for name, solved in solve_expression(dim.expression, size).items():
                    memo = memo.with_single(name, memo.single.get(name, solved))
        return memo

    def _close_annotation(self, spec: Spec, known: Set[str]) -> Spec:
        """What an annotation claims whose expressions have names that no other one binds, as `CallReader.spec` has it.

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

    def _remember(self, memo: Bindings, index: int, claim: Claim, value: ArrayValue | None) -> None:
        for name, size in memo.single.items():
            if name not in self.reader.memo.single:
                if self.sites[claim.sites[0]].kind == "return" and value is not None:
                    self.reader.bound_by_result[name] = index, value
                source = f"{claim.target}: {claim.text}"
                self._bound_by[name] = index
                self.reader.origins[name] = BoundSize(name, self.samples.text(size), source, claim.span.line)
        self.reader.memo = memo

    def _blame_result(self, index: int, claim: Claim) -> None:
        """Where an argument and a result do not go together, the result is wrong: a call gives what it takes."""
        found = self.reader.outcomes.bad.get(index)
        dims = parse_spec(claim.spec).dims
        is_param = self.sites[claim.sites[0]].kind == "param"
        if not is_param or found is None or found.reason != "dim" or found.axis is None or found.axis >= len(dims):
            return
        dim = dims[found.axis]
        names = [name for name in Spec((dim,)).names() if name in self.reader.bound_by_result]
        if not names or not isinstance(found.value, ArrayValue):
            return
        size = found.value.shape[found.axis]
        origin = BoundSize(str(dim), size, f"{claim.target}: {claim.text}", claim.span.line)
        others = (each for each in found.bound if each.name not in names)
        del self.reader.outcomes.bad[index]
        self.reader.outcomes.good.add(index)
        blame_result(self.reader, names[0], origin, *others)


def blame_result(reader: CallReader, name: str, *bound: BoundSize) -> None:
    """The annotation of the result is false, which alone binds a name; `bound` is what that means instead."""
    result, value = reader.bound_by_result[name]
    dims = parse_spec(reader.module.claims[result].spec).dims
    axis = next((i for i, each in enumerate(dims) if isinstance(each, NamedDim) and each.name == name), None)
    reader.outcomes.good.discard(result)
    reader.outcomes.bad[result] = Mismatch("dim", value, reader.call, axis, bound)


def _place_in_tree(part: SelectedArray, trees: Sequence[tuple[Value, str]]) -> str:
    """Where an array stands in the pytree that has a structure name, by which names with `?` differ; "" without one."""
    ways = [way for _, way in trees if part.key.startswith(way)]
    return (part.key.removeprefix(max(ways, key=len)) or "*") if ways else ""
