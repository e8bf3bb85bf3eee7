"""One call's comments, docstrings and fields: a claim holds if any sensible reading of it does."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from shapecheck.model import ArrayValue, Claim, NamedSize, Observation, TreeValue, Value, arrays_in
from shapecheck.shapes import (
    AnyDim,
    Bindings,
    EvaluationError,
    FixedDim,
    NamedDim,
    Size,
    Spec,
    evaluate,
    match,
    parse_comment_dim,
    parse_spec,
    rename_names,
)
from shapecheck.verdicts.call_bindings import CallReader
from shapecheck.verdicts.claim_outcome import BoundSize, ClaimOutcomes, Mismatch, Reason, dtype_fits
from shapecheck.verdicts.loop_turns import Turn
from shapecheck.verdicts.second_values import begins_anew
from shapecheck.verdicts.select_arrays import (
    NoArrayError,
    SelectedArray,
    alone,
    as_shown,
    in_front,
    is_mapped,
    is_mapped_within,
    mapped_axes,
    select_described,
    within,
)
from shapecheck.verdicts.unify import ballot, natural_site, vague_names, vote

_MOST_READINGS = 32
_AGREEING = 2  # other fields whose comments must agree on a name

Shape = tuple[Size, ...]


def read_call(reader: CallReader) -> ClaimOutcomes:
    """All claims of one call: annotations first, as jaxtyping means them; then the others, charitably."""
    formal, other = reader.claims()
    reader.read_annotations(formal)
    if other:
        outcomes = CommentJudge(reader, other, 0).judge_claims()
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


def _with_wrong_result(reader: CallReader, claims: Mapping[int, Claim], first: ClaimOutcomes) -> ClaimOutcomes:
    """The outcomes if the annotation of the result is what is wrong about a name that it alone binds.

    So it is where several comments which it makes false agree on another size.
    """
    for name in reader.names_of_result():
        users = {index for index, claim in claims.items() if name in parse_spec(claim.spec).names()}
        accused = sorted(users & first.bad.keys())
        if len(accused) < _AGREEING:
            continue
        bound = reader.memo, reader.fresh, reader.fresh_origins
        reader.memo, reader.fresh, reader.fresh_origins = reader.memo.without([name]), {}, {}
        again = CommentJudge(reader, claims, 0).judge_claims()
        claim = claims[accused[0]]
        size = next((size for each, size, _ in reader.axes_of(claim) if each == name), None)
        if size is not None and again.good.issuperset(accused) and users.isdisjoint(again.bad):
            reader.blame_result(name, BoundSize(name, size, f"{claim.notation} {claim.text}", claim.span.line))
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


ONE_NUMBER = "it was seen as one number alone, which may stand for the array"
_PRODUCT = re.compile(r"\w\)?\s+[x×]\s+\(?\w")


class CommentJudge:
    """Reads the comments of one call, leaving out `dropped` leading axes of every value."""

    def __init__(self, reader: CallReader, claims: Mapping[int, Claim], dropped: int) -> None:
        self.reader, self.claims, self.dropped = reader, claims, dropped
        self.samples = reader.samples
        self.outcomes = ClaimOutcomes()
        self.by_turn: dict[tuple[str, Turn], Size] = {}

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
            if any(i in outcomes.good and i not in outcomes.bad for i in members):
                for index in members:
                    outcomes.bad.pop(index, None)
                    outcomes.good.add(index)
        return outcomes

    def _claim(self, index: int, claim: Claim) -> None:
        primary = natural_site(self.reader, claim)
        others = [each for site in claim.sites if site != primary for each in self._by_turn(site)]
        turns = list(self._by_turn(primary))
        for turn, observation in turns:
            outcome = self._judge_readings(claim, observation, turn)
            elsewhere = (_with_names(o, observation.names) for t, o in others if _may_be_one(t, turn))
            if outcome is not None and any(self._judge_readings(claim, o, turn) is None for o in elsewhere):
                outcome = None
            if outcome is None:
                self.outcomes.good.add(index)
            elif isinstance(outcome, Mismatch):
                doubt = self._doubt(claim, observation, outcome, turn)
                if turn is not None and observation is not turns[-1][1] and self._holds(claim, *turns[-1]):
                    doubt = doubt or "it holds after the last turn of its loop, and not in all turns"
                if doubt:
                    self.outcomes.unknown[index] = doubt
                else:
                    self.outcomes.bad.setdefault(index, outcome)
            else:
                self.outcomes.unknown[index] = outcome

    def _holds(self, claim: Claim, turn: Turn | None, observation: Observation) -> bool:
        return self._judge_readings(claim, observation, turn) is None

    def _by_turn(self, site: int) -> Iterator[tuple[Turn | None, Observation]]:
        """What a site showed, turn by turn; what stands outside of a loop does not take part in its turns."""
        seen = self.reader.seen.get(site, ())
        turns = self.reader.turns.of(site) if self.reader.turns.repeats(site) else [None] * len(seen)
        return zip(turns, seen, strict=True)

    def _doubt(self, claim: Claim, observation: Observation, mismatch: Mismatch, turn: Turn | None) -> str:
        """Why a claim that fails may still be meant well; "" if it is plainly false."""
        value = observation.value
        if claim.notation == "annotation" and self._is_of_field(claim):
            value = as_shown(value)  # jaxtyping means what the record itself holds
        everywhere = within(value) if self._maps_within else ()
        wholes = (replace(observation, value=whole) for whole in itertools.chain(in_front(value), everywhere))
        fits = any(self._judge_readings(claim, w, turn) is None for w in wholes)
        if fits and not self._speaks_of_one_example(is_docstring=claim.notation == "docstring"):
            around = "vmap" if is_mapped(value) else "vmap or scan around it"
            return f"it fits only with the axes of {around} among its own, and nothing else says that these are meant"
        roles = _as_roles(parse_spec(claim.spec))
        if roles is not None and self._judge_readings(replace(claim, spec=str(roles)), observation, turn) is None:
            return "its names may be the roles of axes, as those before an equals sign are"
        if mismatch.reason == "rank" and not claim.marked and self._has_as_many_elements(mismatch.value, claim):
            return "its names may be those of the value's elements, of which there are as many"
        if isinstance(value, TreeValue) and not claim.select and self._may_mean_one_part(claim, value):
            leaves = [[part] for part in select_described(claim, value)[0]]
            spec = self.reader.spec(claim)
            if any(self._part(claim, spec, part, observation.names, None) is None for (part,) in leaves):
                return f"it gives one shape for a {value.type} of several arrays, and fits some of them"
        in_fields = self._is_of_field(claim) and claim.notation == "comment"
        fresh = [b.name for b in mismatch.bound if b.name in self.reader.fresh]
        if mismatch.reason == "dim" and isinstance(value, TreeValue) and self._varies(claim, observation, fresh):
            return f"the arrays in the {value.type} differ in a size that it has one name for, which each may mean anew"
        if in_fields and mismatch.reason == "dim" and not all(self._is_agreed(claim, name) for name in fresh):
            return "only the comments of other fields bind its names, and they may each speak for themselves"
        if mismatch.reason == "rank" and _may_be_product(claim, mismatch.value):
            return "a number may be the product that it writes"
        if mismatch.reason == "dim" and self._is_of_other_data(claim, observation, mismatch):
            return "a program may make arrays of several sizes, and only comments bind its names"
        if mismatch.reason == "dim" and (equation := self._broken_equation(claim, observation, turn, fresh)):
            return f"{equation} is written, and the sizes that were chosen are others"
        if mismatch.reason == "dim" and (meant := self._meant_by_general(claim, observation, turn, fresh)):
            return f"{meant[0]} may be said of {' and '.join(meant[1:])} alike, and it fits one of them"
        if mismatch.reason == "dim" and fresh and self._is_of_later_value(claim, fresh):
            return "the comments that bind its names stand below where its parameter is given another value"
        if mismatch.reason == "dim" and any(begins_anew(self.reader, self.claims, name, claim) for name in fresh):
            return "the comments that bind its names speak of other data, which may have other sizes"
        return ""

    def _is_of_later_value(self, claim: Claim, fresh: Sequence[str]) -> bool:
        """Whether a claim is about a parameter that the function gives another value, which the comments may mean.

        No argument has an axis of the sizes that they give to these names.
        """
        reader, sites = self.reader, self.reader.module.sites
        scope = reader.module.scopes[reader.call.scope]
        site = sites[claim.sites[0]]
        if site.kind != "param" or claim.notation == "annotation" or site.name not in scope.reassigned:
            return False
        given = [each.value for index, seen in reader.seen.items() if sites[index].kind == "param" for each in seen]
        sizes = {
            size for value in given for array in arrays_in(value) for size in self.samples.shape(array.shape) or ()
        }
        return not any(reader.fresh[name] in sizes for name in fresh)

    def _is_of_other_data(self, claim: Claim, observation: Observation, mismatch: Mismatch) -> bool:
        """Whether the first axis of what the body of a module makes has a size that nothing else in sight has.

        Behind the data for training come those for a test, fewer of them. Not where an integer has the axis's name.
        """
        module, value = self.reader.module, mismatch.value
        if module.scopes[claim.scope].kind != "module" or mismatch.axis != 0 or not isinstance(value, ArrayValue):
            return False
        first, visible = parse_spec(claim.spec).dims[0], {each.name: each.size for each in observation.names}
        if not isinstance(first, NamedDim) or first.name not in self.reader.fresh or first.name in visible:
            return False
        known = [*self.reader.memo.single.values(), *self.reader.fresh.values()]
        known += [size for each in visible.values() if (size := self.samples.size(each)) is not None]
        return self.samples.size(value.shape[0]) not in known

    def _broken_equation(self, claim: Claim, observation: Observation, turn: Turn | None, fresh: Sequence[str]) -> str:
        """What the file says that one of these names is equal to, if a claim would hold so; "" if there is nothing."""
        visible = {n.name: size for n in observation.names if (size := self.samples.size(n.size)) is not None}
        sizes = {**self.reader.memo.single, **self.reader.fresh, **visible}
        for name, text in self.reader.module.equations:
            if name not in fresh:
                continue
            try:
                size = evaluate(parse_comment_dim(text), sizes, self.samples.count)
            except EvaluationError:
                continue
            chosen = self.reader.fresh[name]
            self.reader.fresh[name] = size
            try:
                would_hold = self._judge_readings(claim, observation, turn) is None
            finally:
                self.reader.fresh[name] = chosen
            if would_hold:
                return f"{name} = {text}"
        return ""

    def _meant_by_general(
        self, claim: Claim, observation: Observation, turn: Turn | None, fresh: Sequence[str]
    ) -> tuple[str, ...]:
        """The first name of a claim that is a general word for several others, of which it may mean any; and these.

        Beside `num_heads` and `num_kv_heads`, which differ, comments say `heads` of queries and of keys.
        """
        sizes = {**self.reader.memo.single, **self.reader.fresh}
        sizes.update((n.name, size) for n in observation.names if (size := self.samples.size(n.size)) is not None)
        for name in fresh:
            if self._is_described(name, claim.scope):
                continue
            own = {*name.lower().split("_")}
            special = [each for each in sizes if own < {*each.lower().split("_")}] if len(name) > 1 else []
            if len({sizes[each] for each in special}) < 2:
                continue
            for each in special:
                spec = rename_names(parse_spec(claim.spec), {name: each})
                if self._judge_readings(replace(claim, spec=str(spec)), observation, turn) is None:
                    return (name, *sorted(special))
        return ()

    def _is_described(self, name: str, scope: int) -> bool:
        """Whether a docstring, or what is said of a parameter, has this very name."""
        module = self.reader.module
        claims = (each for each in module.claims if each.scope == scope and name in parse_spec(each.spec).names())
        return any(c.notation == "docstring" or module.sites[c.sites[0]].kind == "param" for c in claims)

    def _may_mean_one_part(self, claim: Claim, value: TreeValue) -> bool:
        """Whether one shape may be that of an array in a record; or of an entry of a dict that code beside it reads.

        Above `offsets[dim] * scale` a comment that names `offsets` may well tell of the one that is taken.
        """
        is_read = value.kind == "dict" and self.reader.module.sites[claim.sites[0]].kind == "name"
        return is_read or value.kind == "node"

    def _varies(self, claim: Claim, observation: Observation, fresh: Sequence[str]) -> bool:
        """Whether each array of a container fits alone, with a size of its own for a name that no array here binds.

        "(count, dim) per group" is about each group. But where all of them have one size, that is what the name has to
        be, and a size that goes by another name here is a mix-up. So it is with variables that are set together.
        """
        anew = [name for name in fresh if not self._names_an_array(name)]
        if "," in claim.target or not anew:
            return False
        spec, sizes = self.reader.spec(claim), defaultdict[str, set[Size]](set)
        for part in select_described(claim, observation.value)[0]:
            known: dict[str, Size] = {}
            for name in [each for each in spec.names() if each not in anew]:
                found = (*self.reader.candidates(claim, name, observation.names), self.reader.lookup(name))
                known.update((name, size) for size in found[:1] if size is not None)
            bindings = replace(self.reader.memo, single=known)
            shape = self.samples.shape(part.value.shape) or ()
            fits = match(spec, shape, bindings, env=known, count=self.samples.count, defer=True)
            if not fits.ok or not dtype_fits(claim.dtype, part.value):
                return False
            for name in anew:
                sizes[name].add(fits.bindings.single.get(name, ()))
        bound = {**self.reader.memo.single, **self.reader.fresh}
        mixed_up = self.samples.symbolic and any(  # given sizes are equal by chance
            (found - {bound.get(name, ())}) & {size for other, size in bound.items() if other != name}
            for name, found in sizes.items()
        )
        return any(len(different) > 1 for different in sizes.values()) and not mixed_up

    def _names_an_array(self, name: str) -> bool:
        """Whether another claim uses the name of an array that stands alone."""
        users = (claim for claim in self.claims.values() if name in parse_spec(claim.spec).names())
        seen = (each for claim in users for each in self.reader.seen.get(natural_site(self.reader, claim), ()))
        return any(isinstance(each.value, ArrayValue) for each in seen)

    def _has_as_many_elements(self, value: Value, claim: Claim) -> bool:
        """Whether a value has one axis, with just as many elements as a claim has names: a picture of these."""
        if not isinstance(value, ArrayValue):
            return False
        shape, count = self.samples.shape(value.shape), parse_spec(claim.spec).rank()
        return shape is not None and count is not None and shape == ((count,) * self.samples.count,)

    def _is_agreed(self, claim: Claim, name: str) -> bool:
        """Whether several other claims mean one size by a name, so that it means the same in all of them."""
        agreeing = 0
        for other in self.claims.values():
            seen = self.reader.seen.get(natural_site(self.reader, other), ())
            if other is not claim and seen and name in parse_spec(other.spec).names():
                agreeing += all(self._judge_readings(other, each, None) is None for each in seen)
        return agreeing >= _AGREEING

    @cached_property
    def _maps_within(self) -> bool:
        """Whether `vmap` took an axis of some value of this call from another place than the front.

        Of what is computed from these no axis has a place of its own, and a text may have it wherever it likes.
        """
        return any(is_mapped_within(each.value) for seen in self.reader.seen.values() for each in seen)

    def _speaks_of_one_example(self, *, is_docstring: bool) -> bool:
        """Whether some claim of this call leaves out the axes of vmap: then those that name them mean others.

        Code that compares shapes can do nothing else, whatever its author has in mind. And a docstring speaks to the
        callers of the mapped function, whatever the comments on its lines leave out.
        """
        formal = [self.reader.module.claims[index] for index in sorted(self.reader.outcomes.good)]
        return (
            any(
                claim in formal or self._judge_readings(claim, replace(each, value=alone(each.value)), None) is None
                for claim in (*formal, *self.claims.values())
                if claim.notation not in (("code", "comment") if is_docstring else ("code",))
                if parse_spec(claim.spec).rank() is not None
                for each in self.reader.seen.get(claim.sites[0], ())
                if is_mapped(each.value)
            )
            or self._describes_one_record()
        )

    def _describes_one_record(self) -> bool:
        """Whether most comments of a record that a scan stacks say what one has, not the stack."""
        fields = [claim for claim in self.claims.values() if self._is_of_field(claim)]
        seen = [(claim, each) for claim in fields for each in self.reader.seen.get(claim.sites[0], ())]
        stacked = [(claim, each) for claim, each in seen if any(array.hidden for array in arrays_in(each.value))]
        fitting = sum(
            self._judge_readings(claim, replace(each, value=alone(each.value)), None) is None for claim, each in stacked
        )
        return 2 * fitting > len(stacked)

    def _is_of_field(self, claim: Claim) -> bool:
        return self.reader.module.sites[claim.sites[0]].kind == "field"

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


def _as_roles(spec: Spec) -> Spec | None:
    """A spec such as `(H, W, I=1, O=C)` whose plain names say what axes are for; None if it is none."""
    if not any(isinstance(dim, NamedDim) and dim.label for dim in spec.dims):
        return None
    plain = [isinstance(dim, NamedDim) and not dim.label for dim in spec.dims]
    return Spec(tuple(AnyDim() if is_plain else dim for dim, is_plain in zip(spec.dims, plain, strict=True)))


def _with_names(observation: Observation, names: Sequence[NamedSize]) -> Observation:
    """An observation with the integers visible at the claim's own place too: `B, T = x.shape` names them for x."""
    have = {named.name for named in observation.names}
    return replace(observation, names=(*observation.names, *(n for n in names if n.name not in have)))


def _may_be_one(turn: Turn | None, other: Turn | None) -> bool:
    """Whether values may be of one turn: two turns of one loop are apart."""
    return turn is None or other is None or turn[0] != other[0] or turn == other


def _left_out(reader: CallReader, claims: Mapping[int, Claim]) -> int:
    """How many leading axes all comments of this call leave out alike; 0 where any comment or annotation has them."""
    left: set[Shape] = set()
    count = 0
    for claim in claims.values():
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
            count += 1
    if count < 2 or len(left) != 1:
        return 0
    axes = next(iter(left))
    named = set(reader.memo.single.values())
    return 0 if any(a in named for a in axes) else len(axes)


def _may_be_product(claim: Claim, value: Value) -> bool:
    """Whether `N x D` behind what is one number may be the number itself."""
    return isinstance(value, ArrayValue) and not value.shape and _PRODUCT.search(claim.text) is not None
