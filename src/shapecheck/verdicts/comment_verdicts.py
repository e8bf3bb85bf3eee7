"""One call's comments, docstrings and fields: a claim holds if any sensible reading of it does."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from shapecheck.model import ArrayValue, Claim, NamedSize, Observation
from shapecheck.shapes import (
    Bindings,
    FixedDim,
    NamedDim,
    Size,
    Spec,
    match,
    parse_spec,
)
from shapecheck.verdicts.annotation_verdicts import ONE_NUMBER, AnnotationJudge, blame_result
from shapecheck.verdicts.call_bindings import CallReader, with_names
from shapecheck.verdicts.claim_doubts import ClaimDoubts
from shapecheck.verdicts.claim_outcome import BoundSize, ClaimOutcomes, Mismatch, Reason, dtype_fits
from shapecheck.verdicts.loop_turns import Turn
from shapecheck.verdicts.select_arrays import (
    NoArrayError,
    SelectedArray,
    mapped_axes,
    select_described,
)
from shapecheck.verdicts.unify import ballot, natural_site, vague_names, vote

_MOST_READINGS = 32
_AGREEING = 2  # other fields whose comments must agree on a name
_VALUE_UNSEEN = "the value beside it was not seen, and what is set in front of that, or goes into it, is another"

Shape = tuple[Size, ...]


def read_call(reader: CallReader) -> ClaimOutcomes:
    """All claims of one call: annotations first, as jaxtyping means them; then the others, charitably."""
    formal, other = reader.claims()
    AnnotationJudge(reader, formal).judge_claims()
    if other:
        outcomes = CommentJudge(reader, other, 0).judge_claims()
        if outcomes.bad:
            outcomes = _without_general_names(reader, other, outcomes)
        if outcomes.bad:
            outcomes = _with_arguments(reader, other, outcomes)
        if outcomes.bad:
            outcomes = _with_one_layout(reader, other, outcomes)
        if outcomes.bad:
            dropped = _left_out(reader, other)
            if dropped:
                again = CommentJudge(reader, other, dropped).judge_claims()
                if not again.bad:
                    outcomes, reader.left_out = again, dropped
            outcomes = _with_wrong_result(reader, other, outcomes)
        elif ambiguous := reader.two_meanings():
            outcomes = _with_one_meaning(reader, other, ambiguous, outcomes)
        reader.outcomes.good |= outcomes.good
        reader.outcomes.bad.update(outcomes.bad)
        reader.outcomes.unknown.update(outcomes.unknown)
    return reader.outcomes


def _with_one_meaning(
    reader: CallReader,
    claims: Mapping[int, Claim],
    ambiguous: Mapping[str, tuple[Size, Size]],
    charitable: ClaimOutcomes,
) -> ClaimOutcomes:
    """The outcomes if comments do not mean an attribute by a name here, and there the axis of the result.

    Either will do, in all of them. Where neither does, they fail for the attribute: it was there before the result.
    """
    for name, meanings in ambiguous.items():
        for size in meanings:
            reader.meanings = {name: size}
            outcomes = CommentJudge(reader, claims, 0).judge_claims()
            if not outcomes.bad:
                break
        else:
            reader.meanings = {}
            return outcomes
    reader.meanings = {}
    return charitable


def _without_general_names(reader: CallReader, claims: Mapping[int, Claim], first: ClaimOutcomes) -> ClaimOutcomes:
    """The outcomes if comments do not mean the axes of an alias for any matrix: `Matrix = Float[Array, "m n"]`.

    Its names are none of the function's own, which has others by them, or has them in another order.
    """
    names = reader.general_names()
    accused = [spec for index in first.bad if names & {*(spec := parse_spec(claims[index].spec)).names()}]
    has_others = any(len(spec.dims) > 1 for spec in accused) or not names.isdisjoint(reader.sizes_around())
    if not accused or not has_others:
        return first
    bound = reader.memo, reader.fresh, reader.fresh_origins
    reader.memo, reader.fresh, reader.fresh_origins = reader.memo.without(names), {}, {}
    again = CommentJudge(reader, claims, 0).judge_claims()
    if len(again.bad) < len(first.bad):
        return again
    reader.memo, reader.fresh, reader.fresh_origins = bound
    return first


def _with_wrong_result(reader: CallReader, claims: Mapping[int, Claim], first: ClaimOutcomes) -> ClaimOutcomes:
    """The outcomes if the annotation of the result is what is wrong about a name that it alone binds.

    So it is where several comments which it makes false agree on another size, or one and the fields of an argument.
    """
    names = reader.names_of_result()
    for together in (*((name,) for name in names), tuple(name for name in names if name in reader.of_records)):
        users = {index for index, claim in claims.items() if not {*together}.isdisjoint(parse_spec(claim.spec).names())}
        accused = sorted(users & first.bad.keys())
        least = 1 if together and all(name in reader.of_records for name in together) else _AGREEING
        if len(accused) < least:
            continue
        bound = reader.memo, reader.fresh, reader.fresh_origins
        reader.memo, reader.fresh, reader.fresh_origins = reader.memo.without(together), {}, {}
        again = CommentJudge(reader, claims, 0).judge_claims()
        claim = claims[accused[0]]
        meant = next(((name, size) for name, size, _ in reader.axes_of(claim) if name in together), None)
        if meant is not None and again.good.issuperset(accused) and users.isdisjoint(again.bad):
            name, size = meant
            blame_result(reader, name, BoundSize(name, size, f"{claim.notation} {claim.text}", claim.span.line))
            return again
        reader.memo, reader.fresh, reader.fresh_origins = bound
    return first


def _with_arguments(reader: CallReader, claims: Mapping[int, Claim], first: ClaimOutcomes) -> ClaimOutcomes:
    """The outcomes if comments that may be about an argument, or what becomes of it, all mean the argument.

    `# x: batch x size x chan` above `x = conv(x)` fits both, and the sizes behind it tell which one was meant.
    """
    if not any(len(claim.sites) > 1 and _may_mean_argument(reader, claim) for claim in claims.values()):
        return first
    bound = reader.fresh, reader.fresh_origins
    reader.fresh, reader.fresh_origins, reader.means_arguments = {}, {}, True
    again = CommentJudge(reader, claims, 0).judge_claims()
    if not again.bad:
        return again
    reader.fresh, reader.fresh_origins = bound
    reader.means_arguments = False
    return first


def _may_mean_argument(reader: CallReader, claim: Claim) -> bool:
    return any(site in reader.seen and reader.module.sites[site].kind == "param" for site in claim.sites[1:])


def _with_one_layout(reader: CallReader, claims: Mapping[int, Claim], first: ClaimOutcomes) -> ClaimOutcomes:
    """The outcomes if all that say "this or that" mean the first throughout, or all the second: channels last.

    What one of the two binds says nothing of the other. Where neither will do, they are as they were.
    """
    groups: dict[int, list[int]] = defaultdict(list)
    for index, claim in claims.items():
        if claim.group is not None:
            groups[claim.group].append(index)
    number = max(map(len, groups.values()), default=0)
    if number < 2 or sum(len(members) == number for members in groups.values()) < 2:
        return first
    bound = reader.fresh, reader.fresh_origins
    for chosen in range(number):
        reader.fresh, reader.fresh_origins = {}, {}
        left = {i for members in groups.values() if len(members) == number for i in members if i != members[chosen]}
        outcomes = CommentJudge(reader, {i: c for i, c in claims.items() if i not in left}, 0).judge_claims()
        if not outcomes.bad:
            good = {i for members in groups.values() if not outcomes.good.isdisjoint(members) for i in members}
            return replace(outcomes, good=outcomes.good | good)
    reader.fresh, reader.fresh_origins = bound
    return first


class CommentJudge:
    """Reads the comments of one call, leaving out `dropped` leading axes of every value."""

    def __init__(self, reader: CallReader, claims: Mapping[int, Claim], dropped: int) -> None:
        self.reader, self.claims, self.dropped = reader, claims, dropped
        self.samples = reader.samples
        self.outcomes = ClaimOutcomes()
        self.by_turn: dict[tuple[str, Turn], Size] = {}
        self.doubts = ClaimDoubts(reader, claims, self._judge_readings, self._part)

    def judge_claims(self) -> ClaimOutcomes:
        """Bind the names that only comments know, then hold each claim against its value."""
        self.by_turn = vote(self.reader, self.claims, self.dropped)
        groups: dict[int, list[int]] = defaultdict(list)
        for index, claim in self.claims.items():
            self._claim(index, claim)
            if claim.group is not None:
                groups[claim.group].append(index)
        outcomes = self.outcomes
        for members in groups.values():
            if any(i in outcomes.good and i not in outcomes.bad for i in members) or self._are_mixed(members):
                for index in members:
                    outcomes.bad.pop(index, None)
                    outcomes.good.add(index)
        return outcomes

    def _are_mixed(self, members: Sequence[int]) -> bool:
        """Whether each of several arrays in a field is as some member of the union in its annotation says."""
        claims = [self.claims[index] for index in members]
        first = claims[0]
        if len({(each.notation, each.sites[:1], each.select) for each in claims}) > 1 or first.notation != "annotation":
            return False
        for turn, observation in self._by_turn(first.sites[0]):
            try:
                parts, *others = (select_described(each, observation.value)[0] for each in claims)
            except NoArrayError:
                return False
            if len(parts) == 1 or any(each != parts for each in others):
                return False
            for part in parts:
                fits = (
                    self._part(c, spec, part, observation.names, turn) for c in claims for spec in self.reader.specs(c)
                )
                if all(mismatch is not None for mismatch in fits):
                    return False
        return True

    def _claim(self, index: int, claim: Claim) -> None:
        primary = natural_site(self.reader, claim)
        others = [each for site in claim.sites if site != primary for each in self._by_turn(site)]
        turns = list(self._by_turn(primary))
        for turn, observation in turns:
            outcome = self._judge_readings(claim, observation, turn)
            elsewhere = (with_names(o, observation.names) for t, o in others if _may_be_one(t, turn))
            if outcome is not None and any(self._judge_readings(claim, o, turn) is None for o in elsewhere):
                outcome = None
            if outcome is None:
                self.outcomes.good.add(index)
            elif isinstance(outcome, Mismatch):
                doubt = _VALUE_UNSEEN if self._stands_in_front(primary, claim.sites[0]) else ""
                doubt = doubt or self.doubts.of_claim(claim, observation, outcome, turn)
                if turn is not None and observation is not turns[-1][1] and self._holds(claim, *turns[-1]):
                    doubt = doubt or "it holds after the last turn of its loop, and not in all turns"
                if doubt:
                    self.outcomes.unknown[index] = doubt
                else:
                    self.outcomes.bad.setdefault(index, outcome)
            else:
                self.outcomes.unknown[index] = outcome

    def _stands_in_front(self, site: int, natural: int) -> bool:
        """Whether what was seen is set in front of what a claim stands at, or goes into it: there the code ended."""
        one, other = (self.reader.module.sites[each].position for each in (site, natural))
        if one is None or other is None or one == other:
            return False
        starts = (other.line, other.column) <= (one.line, one.column)
        ends = (one.end_line, one.end_column) <= (other.end_line, other.end_column)
        return one.end_line < other.line or (starts and ends)

    def _holds(self, claim: Claim, turn: Turn | None, observation: Observation) -> bool:
        return self._judge_readings(claim, observation, turn) is None

    def _by_turn(self, site: int) -> Iterator[tuple[Turn | None, Observation]]:
        """What a site showed, turn by turn; what stands outside of a loop does not take part in its turns."""
        seen = self.reader.seen.get(site, ())
        turns = self.reader.turns.of(site) if self.reader.turns.repeats(site) else [None] * len(seen)
        return zip(turns, seen, strict=True)

    def _judge_readings(self, claim: Claim, observation: Observation, turn: Turn | None) -> Mismatch | str | None:
        """None if some reading holds, else the mismatch of the most natural one, or why nothing can be said."""
        try:
            readings = select_described(claim, observation.value)
        except NoArrayError as nothing:
            return str(nothing)
        if claim.or_number and not any(part.value.shape for parts in readings for part in parts):
            return ONE_NUMBER
        first: Mismatch | None = None
        for spec, parts in itertools.product(self.reader.specs(claim), readings):
            problems = (self._part(claim, spec, part, observation.names, turn) for part in parts)
            problem = next((p for p in problems if p is not None), None)
            if problem is None:
                return None
            first = first or problem
        return first

    def _part(
        self, claim: Claim, spec: Spec, part: SelectedArray, names: Sequence[NamedSize], turn: Turn | None
    ) -> Mismatch | None:
        shape = self.samples.shape(part.value.shape)
        if shape is None:
            return None
        shape = shape[self.dropped :]
        call, worst = self.reader.call, None
        own = vague_names(claim) if vague_names(claim) in self.reader.vague else ()
        for single in self._choices(claim, spec, names, turn, own):
            bindings = replace(self.reader.memo, single=single)
            result = match(spec, shape, bindings, env=single, count=self.samples.count, defer=True)
            if result.ok or result.reason == "unbound" or self._with_mapped(spec, part.value, shape, bindings):
                return None if dtype_fits(claim.dtype, part.value) else Mismatch("dtype", part.value, call)
            reason: Reason = "rank" if result.reason == "rank" else "dim"
            bound = self.reader.bound_sizes(parse_spec(claim.spec), names)
            way = part.key if not claim.select else ""  # from the whole that the message names
            worst = worst or Mismatch(reason, part.value, call, result.dim, bound, way=way)
        return worst

    def _with_mapped(self, spec: Spec, value: ArrayValue, shape: Shape, bindings: Bindings) -> bool:
        """The reading under `vmap` with the mapped axes in front: it may not bind a free name to them."""
        if spec.rank() is None:
            return False
        return any(self._fits_behind(self.samples.shape(axes), spec, shape, bindings) for axes in mapped_axes(value))

    def _fits_behind(self, mapped: Shape | None, spec: Spec, shape: Shape, bindings: Bindings) -> bool:
        front, rest = spec.dims[: len(mapped or ())], spec.dims[len(mapped or ()) :]
        for dim, size in itertools.zip_longest(front, mapped or ()):
            known: tuple[Size | None, ...] = ()
            if isinstance(dim, NamedDim):
                known = (bindings.single.get(dim.name), *self.reader.integers_around(dim.name))
            elif isinstance(dim, FixedDim):
                known = ((dim.size,) * self.samples.count,)
            if size not in known:
                return False
        return match(Spec(rest), shape, bindings, env=bindings.single, count=self.samples.count, defer=True).ok

    def _choices(
        self, claim: Claim, spec: Spec, names: Sequence[NamedSize], turn: Turn | None, own: tuple[str, ...]
    ) -> Iterator[dict[str, Size]]:
        """What the names of a claim may mean: each combination of their sensible readings. `own` are only its own."""
        options: list[list[tuple[str, Size]]] = []
        for name in spec.names():
            sizes = self.reader.candidates(claim, name, names)
            if sizes and self.reader.is_setting(claim, name, names):
                among_themselves = self.reader.lookup(name)
                if among_themselves is not None and among_themselves not in sizes:
                    sizes.append(among_themselves)
            sizes += self.reader.former_sizes(spec, name, tuple(sizes))
            sizes += [size for size in self._said_of_parameters(claim, name, names) if sizes and size not in sizes]
            if not sizes and name not in own:
                bound = self.by_turn.get((name, turn)) if turn is not None else None
                bound = bound if bound is not None else self.reader.lookup(name)
                sizes = [bound] if bound is not None else []
            if sizes:
                options.append([(name, size) for size in sizes])
        for combination in itertools.islice(itertools.product(*options), _MOST_READINGS):
            yield dict(combination)

    def _said_of_parameters(self, claim: Claim, name: str, names: Sequence[NamedSize]) -> Iterator[Size]:
        """What a name of a result means by what the docstring says of parameters, where a local variable has it too.

        Below "u: of shape (2*n,)" the statement `n = u.size` does not change what the docstring means by n.
        """
        module = self.reader.module
        is_local = all(named.source == name for named in names if named.name == name)
        is_own = name in module.scopes[self.reader.call.scope].parameters
        if claim.notation != "docstring" or module.sites[claim.sites[0]].kind != "return" or not is_local or is_own:
            return
        for other in self.claims.values():
            if other.notation == "docstring" and module.sites[other.sites[0]].kind == "param":
                for observation in self.reader.seen.get(other.sites[0], ()):
                    said = ballot(self.reader, other, observation, self.dropped)
                    yield from (size for each, size in said if each == name)


def _may_be_one(turn: Turn | None, other: Turn | None) -> bool:
    """Whether values may be of one turn: two turns of one loop are apart."""
    return turn is None or other is None or turn[0] != other[0] or turn == other


def _left_out(reader: CallReader, claims: Mapping[int, Claim]) -> int:
    """How many leading axes all comments of this call leave out alike; 0 where any comment or annotation has them."""
    left: set[Shape] = set()
    counted: set[int] = set()
    for index, claim in claims.items():
        spec = parse_spec(claim.spec)
        rank = spec.rank()
        for observation in reader.seen.get(claim.sites[0], ()):
            try:
                readings = select_described(claim, observation.value)
            except NoArrayError:
                continue
            shape = reader.samples.shape(readings[0][0].value.shape)
            if shape is None:
                continue
            if rank is None or claim.readings:  # `...` and `[B]` leave them open, and do not name them
                continue
            if len(shape) <= rank:
                return 0
            left.add(shape[: len(shape) - rank])
            counted.add(claim.group if claim.group is not None else -index - 1)  # alternatives are one
    if len(counted) < 2 or len(left) != 1:
        return 0
    axes = next(iter(left))
    named = set(reader.memo.single.values())
    return 0 if any(a in named for a in axes) else len(axes)
