"""One call of one scope: its claims against what was observed, under the readings that the design allows."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from shapecheck.check.parts import (
    NothingThereError,
    Part,
    WrongStructureError,
    annotated,
    described,
    skeleton,
)
from shapecheck.check.sampling import Samples
from shapecheck.facts import ArrayValue, Call, Claim, Module, Named, Observation, Value
from shapecheck.shapes import Bindings, NamedDim, Size, Spec, dtype_matches, is_variadic, match, parse_spec
from shapecheck.shapes.spec import FixedDim

_MOST_READINGS = 32
_NARROWED = {"float64": "Float32", "int64": "Int32", "uint64": "UInt32", "complex128": "Complex64"}

Shape = tuple[Size, ...]
Reason = Literal["rank", "dim", "dtype", "structure"]


@dataclass(frozen=True)
class Bound:
    """What a name meant, as text, and where that came from."""

    name: str
    size: str
    source: str
    line: int | None = None


@dataclass(frozen=True)
class Mismatch:
    """A claim that no reading makes true in this call."""

    reason: Reason
    value: Value
    call: Call
    axis: int | None = None
    bound: tuple[Bound, ...] = ()


@dataclass
class Outcomes:
    """How the claims of one call came out. A claim may be in several: seen in a loop, or by other sites."""

    good: set[int] = field(default_factory=set)
    bad: dict[int, Mismatch] = field(default_factory=dict)
    unknown: dict[int, str] = field(default_factory=dict)


class CallReader:
    """Reads one call. `outer` is the reader of the enclosing function's call, whose names comments may use."""

    def __init__(self, module: Module, call: Call, samples: Samples, outer: CallReader | None) -> None:
        self.module, self.call, self.samples, self.outer = module, call, samples, outer
        self.memo = Bindings()
        self.outcomes = Outcomes()
        self.origins: dict[str, Bound] = {}
        self.fresh: dict[str, Size] = {}
        self.by_epoch: dict[tuple[str, int], Size] = {}
        self.seen: dict[int, list[Observation]] = defaultdict(list)
        for observation in call.observations:
            self.seen[observation.site].append(observation)

    def read(self) -> Outcomes:
        """Annotations first, as jaxtyping means them; then comments and docstrings, charitably."""
        claims = self._claims()
        formal = {i for i, c in claims if c.notation == "annotation" and not self._is_field(c)}
        self._annotations({i: c for i, c in claims if i in formal})
        loose = [(i, c) for i, c in claims if i not in formal]
        if loose:
            self._comments(loose, 0)
            dropped = self._left_out(loose)
            if dropped:
                again = CallReader(self.module, self.call, self.samples, self.outer)
                again.memo, again.origins = self.memo, dict(self.origins)
                again._comments(loose, dropped)
                if not again.outcomes.bad:
                    for index, _ in loose:
                        self.outcomes.bad.pop(index, None)
                    self.outcomes.good |= again.outcomes.good
        return self.outcomes

    def lookup(self, name: str) -> Size | None:
        """What a name means in this call or in those around it."""
        if name in self.memo.single:
            return self.memo.single[name]
        if name in self.fresh:
            return self.fresh[name]
        return self.outer.lookup(name) if self.outer is not None else None

    def _claims(self) -> list[tuple[int, Claim]]:
        return [(i, c) for i, c in enumerate(self.module.claims) if any(s in self.seen for s in c.sites)]

    def _is_field(self, claim: Claim) -> bool:
        return self.module.sites[claim.sites[0]].kind == "field"

    # annotations

    def _annotations(self, claims: Mapping[int, Claim]) -> None:
        by_site: dict[int, list[tuple[int, Claim]]] = defaultdict(list)
        for index, claim in claims.items():
            by_site[claim.sites[0]].append((index, claim))
        for observation in self.call.observations:
            together: dict[object, list[tuple[int, Claim]]] = defaultdict(list)
            for index, claim in by_site.get(observation.site, ()):
                together[("alone", index) if claim.group is None else claim.group].append((index, claim))
            for members in together.values():
                self._alternatives(members, observation)

    def _alternatives(self, members: Sequence[tuple[int, Claim]], observation: Observation) -> None:
        """Claims of one union: the first that fits binds; if none does, all are false."""
        failures: dict[int, Mismatch] = {}
        for index, claim in members:
            try:
                outcome = self._annotation(claim, observation)
            except NothingThereError as nothing:
                self.outcomes.unknown[index] = str(nothing)
                continue
            if outcome is None:
                self.outcomes.good.update(i for i, _ in members)
                return
            failures[index] = outcome
        if failures and len(failures) == len(members):
            for index, mismatch in failures.items():
                self.outcomes.bad.setdefault(index, mismatch)

    def _annotation(self, claim: Claim, observation: Observation) -> Mismatch | None:
        spec = parse_spec(claim.spec)
        env = self._environment(observation.names)
        try:
            parts = annotated(claim, observation.value)
        except WrongStructureError:
            return Mismatch("structure", observation.value, self.call)
        memo = self.memo
        for part in parts:
            shape = self.samples.shape(part.value.shape)
            if shape is None:
                raise NothingThereError("a size could not be computed")
            result = match(
                spec, shape, memo, env=env, count=self.samples.count, leaf=part.key if claim.structure else ""
            )
            if not result.ok and result.reason == "unbound":
                raise NothingThereError(result.detail)
            if not result.ok:
                reason: Reason = "rank" if result.reason == "rank" else "dim"
                return Mismatch(reason, part.value, self.call, result.dim, self._bound(spec, observation.names))
            if not _dtype_fits(claim.dtype, part.value):
                return Mismatch("dtype", part.value, self.call)
            memo = result.bindings
        structure = claim.structure.strip()
        if structure.isidentifier():
            text = skeleton(observation.value)
            if memo.structures.get(structure, text) != text:
                return Mismatch("structure", observation.value, self.call)
            memo = memo.with_structure(structure, text)
        self._remember(memo, claim)
        return None

    def _remember(self, memo: Bindings, claim: Claim) -> None:
        for name, size in memo.single.items():
            if name not in self.memo.single:
                source = f"{claim.target}: {claim.text}"
                self.origins[name] = Bound(name, self.samples.text(size), source, claim.span.line)
        self.memo = memo

    def _environment(self, names: Sequence[Named]) -> dict[str, Size]:
        env: dict[str, Size] = {}
        for named in names:
            size = self.samples.size(named.size)
            if size is not None:
                env.setdefault(named.name, size)
        return env

    # comments and docstrings

    def _comments(self, claims: Sequence[tuple[int, Claim]], dropped: int) -> None:
        self._vote(claims, dropped)
        groups: dict[int, list[int]] = defaultdict(list)
        for index, claim in claims:
            self._comment(index, claim, dropped)
            if claim.group is not None:
                groups[claim.group].append(index)
        for members in groups.values():
            if any(i in self.outcomes.good and i not in self.outcomes.bad for i in members):
                for index in members:
                    self.outcomes.bad.pop(index, None)
                    self.outcomes.good.add(index)

    def _comment(self, index: int, claim: Claim, dropped: int) -> None:
        primary = next((s for s in claim.sites if s in self.seen), None)
        if primary is None:
            return
        others = [o for s in claim.sites if s != primary for o in self.seen.get(s, ())]
        for epoch, observation in enumerate(self.seen[primary]):
            outcome = self._reading(claim, observation, epoch, dropped)
            if outcome is not None and any(self._reading(claim, o, epoch, dropped) is None for o in others):
                outcome = None
            if outcome is None:
                self.outcomes.good.add(index)
            elif isinstance(outcome, Mismatch):
                self.outcomes.bad.setdefault(index, outcome)
            else:
                self.outcomes.unknown[index] = outcome

    def _reading(self, claim: Claim, observation: Observation, epoch: int, dropped: int) -> Mismatch | str | None:
        """None if some reading holds, else the mismatch of the most natural one, or why nothing can be said."""
        spec = parse_spec(claim.spec)
        try:
            readings = described(claim, observation.value)
        except NothingThereError as nothing:
            return str(nothing)
        first: Mismatch | None = None
        for parts in readings:
            problem = None
            for part in parts:
                problem = self._part(claim, spec, part, observation.names, epoch, dropped)
                if problem is not None:
                    break
            if problem is None:
                return None
            first = first or problem
        return first

    def _part(
        self, claim: Claim, spec: Spec, part: Part, names: Sequence[Named], epoch: int, dropped: int
    ) -> Mismatch | None:
        shape = self.samples.shape(part.value.shape)
        if shape is None:
            return None
        shape = shape[dropped:]
        worst: Mismatch | None = None
        for single in self._choices(spec, names, epoch):
            bindings = replace(self.memo, single=single)
            result = match(spec, shape, bindings, env=single, count=self.samples.count, defer=True)
            if result.ok or result.reason == "unbound" or self._with_mapped(spec, part.value, shape, bindings):
                if _dtype_fits(claim.dtype, part.value):
                    return None
                return Mismatch("dtype", part.value, self.call)
            reason: Reason = "rank" if result.reason == "rank" else "dim"
            worst = worst or Mismatch(reason, part.value, self.call, result.dim, self._bound(spec, names))
        return worst

    def _with_mapped(self, spec: Spec, value: ArrayValue, shape: Shape, bindings: Bindings) -> bool:
        """The reading under `vmap` with the mapped axes in front: it may not bind a free name to them."""
        mapped = self.samples.shape(value.mapped)
        if not mapped or spec.rank() is None:
            return False
        front, rest = spec.dims[: len(mapped)], spec.dims[len(mapped) :]
        for dim, size in zip(front, mapped, strict=False):
            known = bindings.single.get(dim.name) if isinstance(dim, NamedDim) else None
            if isinstance(dim, FixedDim):
                known = (dim.size,) * self.samples.count
            if known != size:
                return False
        result = match(Spec(rest), shape, bindings, env=bindings.single, count=self.samples.count, defer=True)
        return result.ok

    def _choices(self, spec: Spec, names: Sequence[Named], epoch: int) -> Iterator[dict[str, Size]]:
        """What the names of a comment may mean: each combination of their sensible readings."""
        options: list[list[tuple[str, Size]]] = []
        for name in spec.names():
            sizes = self._candidates(name, names)
            if not sizes:
                bound = self.by_epoch.get((name, epoch), self.fresh.get(name))
                if bound is None and self.outer is not None:
                    bound = self.outer.lookup(name)
                sizes = [bound] if bound is not None else []
            if sizes:
                options.append([(name, size) for size in sizes])
        combinations = itertools.islice(itertools.product(*options), _MOST_READINGS)
        yield from (dict(combination) for combination in combinations)

    def _candidates(self, name: str, names: Sequence[Named]) -> list[Size]:
        """The annotation's binding, and the integers of that name."""
        found: list[Size] = []
        if name in self.memo.single:
            found.append(self.memo.single[name])
        for named in names:
            if named.name == name:
                size = self.samples.size(named.size)
                if size is not None and size not in found:
                    found.append(size)
        return found

    def _vote(self, claims: Sequence[tuple[int, Claim]], dropped: int) -> None:
        """Bind the names that only comments know: what most comments agree on, so that the stale one stands out."""
        votes: dict[str, Counter[Size]] = defaultdict(Counter)
        varying: dict[tuple[str, int], Size] = {}
        for _, claim in claims:
            primary = next((s for s in claim.sites if s in self.seen), None)
            if primary is None:
                continue
            ballots: dict[str, dict[int, Size]] = defaultdict(dict)
            for epoch, observation in enumerate(self.seen[primary]):
                for name, size in self._ballot(claim, observation, dropped):
                    ballots[name][epoch] = size
            for name, by_epoch in ballots.items():
                if len(set(by_epoch.values())) == 1:
                    self._count(votes, name, next(iter(by_epoch.values())), claim)
                else:
                    for epoch, size in by_epoch.items():
                        varying.setdefault((name, epoch), size)
        for name, counter in votes.items():
            self.fresh[name] = max(counter.items(), key=lambda pair: pair[1])[0]
        self.by_epoch = {k: v for k, v in varying.items() if k[0] not in self.fresh}

    def _count(self, votes: dict[str, Counter[Size]], name: str, size: Size, claim: Claim) -> None:
        if size not in votes[name]:
            text = self.samples.text(size)
            bound = Bound(name, text, f"{claim.notation} {claim.text}", claim.span.line)
            self.origins.setdefault(f"{name} {size}", bound)
        # A tie between two sizes goes to the one that was claimed first: counters keep their order.
        votes[name][size] += 2 if claim.sure else 1

    def _ballot(self, claim: Claim, observation: Observation, dropped: int) -> Iterator[tuple[str, Size]]:
        spec = parse_spec(claim.spec)
        try:
            readings = described(claim, observation.value)
        except NothingThereError:
            return
        shape = self.samples.shape(readings[0][0].value.shape)
        if shape is None:
            return
        known = {n: c[0] for n in spec.names() if (c := self._candidates(n, observation.names))}
        if self.outer is not None:
            for name in spec.names():
                size = self.outer.lookup(name)
                if size is not None:
                    known.setdefault(name, size)
        bindings = replace(self.memo, single=known)
        result = match(spec, shape[dropped:], bindings, env=known, count=self.samples.count, defer=True)
        if result.ok:
            yield from ((n, s) for n, s in result.bindings.single.items() if n not in known)

    def _left_out(self, claims: Sequence[tuple[int, Claim]]) -> int:
        """How many leading axes all comments of this call leave out alike; 0 where any comment has them."""
        left: set[tuple[Size, ...]] = set()
        count = 0
        for _, claim in claims:
            spec = parse_spec(claim.spec)
            rank = spec.rank()
            for observation in (o for s in claim.sites[:1] for o in self.seen.get(s, ())):
                try:
                    readings = described(claim, observation.value)
                except NothingThereError:
                    continue
                shape = self.samples.shape(readings[0][0].value.shape)
                if shape is None:
                    continue
                if rank is None or len(shape) <= rank or any(map(is_variadic, spec.dims)):
                    return 0
                left.add(shape[: len(shape) - rank])
                count += 1
        if count < 2 or len(left) != 1:
            return 0
        axes = next(iter(left))
        named = set(self.memo.single.values())
        return 0 if any(a in named for a in axes) else len(axes)

    def _bound(self, spec: Spec, names: Sequence[Named]) -> tuple[Bound, ...]:
        """What the names of a spec meant, for the message."""
        found: list[Bound] = []
        for name in spec.names():
            visible = next((n for n in names if n.name == name), None)
            if name in self.memo.single and name in self.origins:
                found.append(self.origins[name])
            elif visible is not None:
                found.append(Bound(name, visible.size, visible.source))
            else:
                reader: CallReader | None = self
                while reader is not None and name not in reader.fresh and name not in reader.memo.single:
                    reader = reader.outer
                if reader is not None and name in reader.fresh:
                    found.append(reader.origins[f"{name} {reader.fresh[name]}"])
                elif reader is not None and name in reader.origins:
                    found.append(reader.origins[name])
        return tuple(found)


def _dtype_fits(claimed: str, value: ArrayValue) -> bool:
    """Whether the dtype fits. With 64 bits switched off JAX narrows them, and that is not the claim's fault."""
    if dtype_matches(claimed, value.dtype):
        return True
    return any(claimed.lower() == wide and value.dtype == narrow.lower() for wide, narrow in _NARROWED.items())
