"""What the names mean that only comments know: each claim of a call casts its ballot."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from shapecheck.check.calls import CallReader
from shapecheck.check.mapped import mapped_axes
from shapecheck.check.outcomes import Bound
from shapecheck.check.parts import NothingThereError, described
from shapecheck.facts import Claim, Observation
from shapecheck.shapes import Size, match, parse_spec


def vote(reader: CallReader, claims: Mapping[int, Claim], dropped: int) -> dict[tuple[str, int], Size]:
    """Bind each such name to what most comments agree on, so that the stale one stands out.

    A name that most comments of a loop bind differently each time around is bound afresh in each turn: the answer.
    """
    ballots: list[tuple[Claim, dict[str, Size]]] = []
    varying: dict[tuple[str, int], Counter[Size]] = defaultdict(Counter)
    lean: Counter[str] = Counter()  # how many more claims bind a name afresh each time than bind it once
    for claim in claims.values():
        sizes: dict[str, dict[int, Size]] = defaultdict(dict)
        for epoch, observation in enumerate(reader.seen[natural_site(reader, claim)]):
            for name, size in _ballot(reader, claim, observation, dropped):
                sizes[name][epoch] = size
        steady = {name: next(iter(by.values())) for name, by in sizes.items() if len(set(by.values())) == 1}
        for name, by_epoch in sizes.items():
            if len(reader.seen[natural_site(reader, claim)]) > 1:
                lean[name] += 1 if name not in steady else -1
            if name not in steady:
                for epoch, size in by_epoch.items():
                    varying[(name, epoch)][size] += 1
        if steady:
            ballots.append((claim, steady))
    seen = reader.seen
    ballots = [
        (claim, {n: s for n, s in names.items() if lean[n] <= 0 or len(seen[natural_site(reader, claim)]) == 1})
        for claim, names in ballots
    ]
    for claim, names in _agreeing(ballots):
        for name, size in names.items():
            if name not in reader.fresh:
                source = f"{claim.notation} {claim.text}"
                reader.fresh[name] = size
                reader.fresh_origins[name] = Bound(name, reader.samples.text(size), source, claim.span.line)
    fresh = reader.fresh
    return {k: v.most_common(1)[0][0] for k, v in varying.items() if lean[k[0]] > 0 or k[0] not in fresh}


def _ballot(reader: CallReader, claim: Claim, observation: Observation, dropped: int) -> Iterator[tuple[str, Size]]:
    try:
        readings = described(claim, observation.value)
    except NothingThereError:
        return
    value = readings[0][0].value
    shape = reader.samples.shape(value.shape)
    if shape is None:
        return
    specs = [parse_spec(text) for text in (claim.spec, *claim.readings)]
    # Of a text with several readings, the one that has as many axes as the value says what its names mean.
    spec = next((each for each in specs if each.rank() in (len(shape) - dropped, None)), specs[0])
    if spec.rank() is None and any(True for _ in mapped_axes(value)):
        return  # `[B, ...]` fits with the axes of vmap in front and without them: it cannot say which is meant
    known: dict[str, Size] = {}
    for name in spec.names():
        sizes = reader.candidates(name, observation.names)
        outer = reader.outer.lookup(name) if reader.outer is not None else None
        size = sizes[0] if sizes else outer
        if size is not None:
            known[name] = size
    bindings = replace(reader.memo, single=known)
    result = match(spec, shape[dropped:], bindings, env=known, count=reader.samples.count, defer=True)
    if result.ok:
        yield from ((n, s) for n, s in result.bindings.single.items() if n not in known)


def natural_site(reader: CallReader, claim: Claim) -> int:
    """The most natural site of a claim that was observed."""
    return next(s for s in claim.sites if s in reader.seen)


def _agreeing(ballots: list[tuple[Claim, dict[str, Size]]]) -> list[tuple[Claim, dict[str, Size]]]:
    """Leave out ballots until no two conflict: first those which contradict the most, of equal ones the last.

    A tentative comment counts half of a sure one.
    """
    left = list(ballots)
    while True:
        conflicts = [
            sum(
                2 if other.sure else 1
                for other, theirs in left
                if any(theirs.get(name, size) != size for name, size in names.items())
            )
            / (2 if claim.sure else 1)
            for claim, names in left
        ]
        if not any(conflicts):
            return left
        most = max(conflicts)
        left.pop(len(left) - 1 - conflicts[::-1].index(most))
