"""What the names mean that only comments know: each claim of a call casts its ballot."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from shapecheck.model import ArrayValue, Claim, Observation
from shapecheck.shapes import Size, match, parse_spec
from shapecheck.shapes.solve_dims import solve_dims
from shapecheck.verdicts.call_bindings import CallReader
from shapecheck.verdicts.claim_outcome import BoundSize
from shapecheck.verdicts.loop_turns import Turn
from shapecheck.verdicts.select_arrays import NoArrayError, mapped_axes, select_described

_EXTENTS = frozenset(["length", "len", "size", "count", "number", "num", "dim", "dimension"])
_SIDES = frozenset(["height", "width", "depth", "rows", "columns", "cols"])
"""Words for what every image, kernel, or matrix has of its own."""


def vote(reader: CallReader, claims: Mapping[int, Claim], dropped: int) -> dict[tuple[str, Turn], Size]:
    """Bind each such name to what most comments agree on, so that the stale one stands out.

    A name that most comments of a loop bind differently each time around is bound afresh in each turn: the answer.
    """
    reader.vague = _vague_names(reader, claims)
    ballots: list[tuple[Claim, bool, dict[str, Size]]] = []
    votes: dict[tuple[str, Turn], Counter[Size]] = defaultdict(Counter)
    balance: Counter[str] = Counter()  # how many more claims bind a name afresh each time than bind it once
    for claim in claims.values():
        site = natural_site(reader, claim)
        turns, repeats = reader.turns.of(site), reader.turns.repeats(site)
        sizes: dict[str, dict[Turn, Size]] = defaultdict(dict)
        for turn, observation in zip(turns, reader.seen[site], strict=True):
            for name, size in ballot(reader, claim, observation, dropped):
                sizes[name][turn] = size
        steady = {name: next(iter(by.values())) for name, by in sizes.items() if len(set(by.values())) == 1}
        for name, by_turn in sizes.items():
            if len(turns) > 1:
                balance[name] += 1 if name not in steady else -1
            for turn, size in by_turn.items() if repeats else ():
                votes[name, turn][size] += 1
        ballots.append((claim, repeats, steady))
    afresh = {name for name, more in balance.items() if more > 0}
    once = [
        (claim, {n: s for n, s in names.items() if not (in_turn and n in afresh)}) for claim, in_turn, names in ballots
    ]
    left = [(claim, names) for claim, names in _without_ones(reader, once) if names]
    given = {id(claims[index]) for index in reader.made_of if index in claims}
    trusted = _trusted_records(reader, left, given)
    for name, (origin, size) in trusted.items():
        reader.fresh[name] = size
        reader.fresh_origins[name] = origin
    for claim, names in _agreed_ballots(left, given, {name: size for name, (_, size) in trusted.items()}):
        for name, size in names.items():
            if name not in reader.fresh:
                source = f"{claim.notation} {claim.text}"
                reader.fresh[name] = size
                reader.fresh_origins[name] = BoundSize(name, reader.samples.text(size), source, claim.span.line)
    return {k: v.most_common(1)[0][0] for k, v in votes.items() if k[0] in afresh or k[0] not in reader.fresh}


def _trusted_records(
    reader: CallReader, ballots: list[tuple[Claim, dict[str, Size]]], given: Set[int]
) -> dict[str, tuple[BoundSize, Size]]:
    """The names that mean what they do in the fields of an argument's class: `obs.uv.sum(1)  # [M]`.

    So it is where a comment agrees, or one alone has the name, unless it is a size of its own there: a part of the
    records, say, of which there may be fewer. Only a size that goes by another name in sight, is a number of the
    fields, or several times what the name means there has been mixed up. What the arguments are made of is another
    matter.
    """
    voters: dict[str, list[Size]] = defaultdict(list)
    of_arguments: set[str] = set()
    sizes: dict[str, set[Size]] = defaultdict(set)
    for claim, names in ballots:
        for name, size in names.items():
            voters[name].append(size)
            sizes[name].add(size)
        if id(claim) in given or reader.module.sites[claim.sites[0]].kind == "param":
            of_arguments.update(names)
    for name, size in (*reader.memo.single.items(), *((n, s) for n, (_, s) in reader.of_records.items())):
        sizes[name].add(size)
    found = {}
    for name, (origin, size) in reader.of_records.items():
        if name in of_arguments or reader.outer_lookup(name) is not None:
            continue
        others = {other for each, own in sizes.items() if each != name for other in own} | reader.numbers_of_records
        is_mixed_up = all(own == size or own in others or _is_multiple(own, size) for own in voters[name])
        if is_mixed_up and (len(voters[name]) <= 1 or size in voters[name]):
            found[name] = origin, size
    return found


def _is_multiple(size: Size, of: Size) -> bool:
    """Whether a size is always the same number of times another."""
    times = {one // other if other and one % other == 0 else 0 for one, other in zip(size, of, strict=True)}
    return len(times) == 1 and times.isdisjoint({0, 1})


def _without_ones(
    reader: CallReader, ballots: list[tuple[Claim, dict[str, Size]]]
) -> list[tuple[Claim, dict[str, Size]]]:
    """Leave out what axes of one say of a name that other axes say more of: they may be there to broadcast.

    Unless most comments have a one there: then it is the size, and the others are the odd ones. Not so an argument's
    own, which has the size that callers give it.
    """
    seen = Counter((name, set(size) == {1}) for _, names in ballots for name, size in names.items())
    apart = {name for name, is_one in seen if not is_one and seen[name, True] <= seen[name, False]}
    own = (names for claim, names in ballots if reader.module.sites[claim.sites[0]].kind == "param")
    apart |= {name for names in own for name, size in names.items() if set(size) != {1}}
    return [(c, {n: size for n, size in names.items() if n not in apart or set(size) != {1}}) for c, names in ballots]


def _vague_names(reader: CallReader, claims: Mapping[int, Claim]) -> frozenset[tuple[str, ...]]:
    """The words that docstrings use for all axes of several parameters, each for its own, as their sizes show.

    "a: array of shape (length,)" beside "b: array of shape (length,)" says nothing of two equal lengths, nor does
    "(height, width)" of an image and of a kernel. Where they have one size in common, or have theirs in another order,
    it is the same sizes that are meant.
    """
    shapes: dict[tuple[str, ...], set[tuple[Size, ...]]] = defaultdict(set)
    for claim in claims.values():
        names = vague_names(claim)
        if names and reader.module.sites[claim.sites[0]].kind == "param":
            for observation in reader.seen[claim.sites[0]]:
                sizes = dict(ballot(reader, claim, observation, 0))
                if sizes.keys() == set(names):
                    shapes[names].add(tuple(sizes[name] for name in names))
    return frozenset(
        names
        for names, found in shapes.items()
        if any(not set(a) & set(b) for a, b in itertools.combinations(found, 2))
    )


def vague_names(claim: Claim) -> tuple[str, ...]:
    """The names of a docstring's shape such as `(length,)` or `(height, width)`, if all are words for any extent."""
    spec = parse_spec(claim.spec)
    names = spec.free_names()
    words = _EXTENTS if len(names) == 1 else _SIDES
    is_vague = claim.notation == "docstring" and len(spec.dims) == len(names) == len(set(names))
    return tuple(names) if is_vague and words.issuperset(map(str.lower, names)) else ()


def ballot(reader: CallReader, claim: Claim, observation: Observation, dropped: int) -> Iterator[tuple[str, Size]]:
    """The names that one claim by itself binds at one value, which nothing else binds, with their sizes."""
    if vague_names(claim) in reader.vague:
        return
    if claim.select and not claim.sure and isinstance(observation.value, ArrayValue):
        return  # `(N, T, d) and (N, T)` above two statements says nothing of the rows of the first value
    try:
        readings = select_described(claim, observation.value)
    except NoArrayError:
        return
    value = readings[0][0].value
    shape = reader.samples.shape(value.shape)
    if shape is None:
        return
    specs = reader.specs(claim)
    # Of a text with several readings, the one that has as many axes as the value says what its names mean.
    spec = next((each for each in specs if each.rank() in (len(shape) - dropped, None)), specs[0])
    if spec.rank() is None and any(True for _ in mapped_axes(value)):
        return  # `[B, ...]` fits with the axes of vmap in front and without them: it cannot say which is meant
    known: dict[str, Size] = {}
    for name in spec.names():
        sizes = reader.candidates(claim, name, observation.names)
        outer = reader.outer_lookup(name)
        size = sizes[0] if sizes else outer
        if size is not None and not (sizes and reader.is_setting(claim, name, observation.names)):
            known[name] = size
    bindings = replace(reader.memo, single=known)
    result = match(spec, shape[dropped:], bindings, env=known, count=reader.samples.count, defer=True)
    if result.ok:
        yield from ((n, s) for n, s in result.bindings.single.items() if n not in known)
    elif spec.rank() == len(shape) - dropped and reader.module.sites[claim.sites[0]].kind == "param":
        # An argument is what its own claim says; of any other value, a sum that does not fit may be what is wrong.
        yield from ((n, s) for n, s in solve_dims(spec, shape[dropped:], known).items() if n not in known)


def natural_site(reader: CallReader, claim: Claim) -> int:
    """The most natural site of a claim that was observed."""
    seen = [site for site in claim.sites if site in reader.seen]
    given = (site for site in seen if reader.module.sites[site].kind == "param") if reader.means_arguments else ()
    return next(iter(given), seen[0])


def _agreed_ballots(
    ballots: list[tuple[Claim, dict[str, Size]]], made_of: Set[int], known: Mapping[str, Size]
) -> list[tuple[Claim, dict[str, Size]]]:
    """The ballots that do not conflict with what is `known`: those of claims which arguments were made of come first.

    In such a call their names mean what the arguments have, however many comments further on say otherwise.
    """
    given = _drop_conflicts([ballot for ballot in ballots if id(ballot[0]) in made_of])
    sizes = {**known, **{name: size for _, names in given for name, size in names.items()}}
    others = (ballot for ballot in ballots if id(ballot[0]) not in made_of)
    fitting = [(c, names) for c, names in others if all(sizes.get(name, size) == size for name, size in names.items())]
    return given + _drop_conflicts(fitting)


def _drop_conflicts(ballots: list[tuple[Claim, dict[str, Size]]]) -> list[tuple[Claim, dict[str, Size]]]:
    """Leave out ballots until no two conflict: first those which contradict the most, of equal ones the last.

    A tentative comment counts half of a sure one.
    """
    left = _without_late(ballots)
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


def _without_late(ballots: list[tuple[Claim, dict[str, Size]]]) -> list[tuple[Claim, dict[str, Size]]]:
    """Leave out what says otherwise than the first two comments with a name, if these agree and are not one text.

    What follows on a mistake in the code has its sizes, and may be more than what comes before it. Sure ones are first.
    """
    first: dict[str, list[tuple[str, Size]]] = defaultdict(list)
    for claim, names in sorted(ballots, key=lambda ballot: (not ballot[0].sure, ballot[0].span.line)):
        for name, size in names.items():
            if (claim.spec, size) not in first[name]:
                first[name].append((claim.spec, size))
    settled = {name: two[0][1] for name, two in first.items() if len(two) > 1 and two[0][1] == two[1][1]}
    return [(c, names) for c, names in ballots if all(settled.get(n, size) == size for n, size in names.items())]
