"""Claims that hold loosely: one of their names is bound by nothing but the claim itself, so any size would do.

`h = f(x)  # (seq, d_model)`, where nothing else says what `d_model` is, proves that `h` has two axes. Such a claim is
verified, since it says nothing false; but it must not look like one whose sizes were all compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping

from shapecheck.model import Claim
from shapecheck.shapes import Spec, parse_spec
from shapecheck.verdicts.call_bindings import CallReader


def rank_only_names(reader: CallReader, undecided: Container[int] = ()) -> dict[int, tuple[str, ...]]:
    """The claims of one call with names that nothing else in sight binds: index -> those names.

    Parameters are left out: where a name enters a function, it is free to mean any size. Claims that are `undecided`
    bind nothing: two that contradict each other confirm neither.
    """
    formal, other = reader.claims()
    claims = {**formal, **other}
    spelled = {index: Counter(name for name, _ in _compared_names(reader, claim)) for index, claim in claims.items()}
    mentions = _mentions({index: claim for index, claim in claims.items() if index not in undecided}, spelled)
    found: dict[int, tuple[str, ...]] = {}
    for index, claim in claims.items():
        is_param = reader.module.sites[claim.sites[0]].kind == "param"
        alone = dict.fromkeys(
            name
            for spelling, names in _compared_names(reader, claim)
            if mentions[spelling] == 1 and not (is_param and names == (spelling,))
            for name in names
            if not _is_known(reader, claim, name)
        )
        if alone:
            found[index] = tuple(alone)
    return found


def _mentions(claims: Mapping[int, Claim], spelled: Mapping[int, Counter[str]]) -> Counter[str]:
    """How often the claims compare each name: two that describe one value, or the members of a union, say it once."""
    by_value: dict[object, Counter[str]] = {}
    for index, claim in claims.items():
        place = ("union", claim.group) if claim.group is not None else (claim.sites[0], claim.select)
        by_value[place] = by_value.get(place, Counter()) | spelled[index]
    return sum(by_value.values(), Counter())


def _compared_names(reader: CallReader, claim: Claim) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a claim compares, as often as it does (`n n` compares two axes), and the names that it uses for that.

    Of an expression with a name that no axis has, such as `3 * n`, no more is known than that it is one size.
    """
    for dim, read_dim in zip(parse_spec(claim.spec).dims, reader.spec(claim).dims, strict=True):
        for name in Spec((read_dim,)).names():
            yield name, reader.open_names(dim) or (name,)


def _is_known(reader: CallReader, claim: Claim, name: str) -> bool:
    bound = reader.lookup(name)
    if bound is not None and name.isidentifier() and bound == reader.samples.size(name):
        return True  # the axis is the very one that the entry's arguments call so
    if reader.outer_lookup(name) is not None:
        return True
    of_record = reader.of_records.get(name)
    if of_record is not None and bound == of_record[1]:
        return True
    seen = (o for s in claim.sites for o in reader.seen.get(s, ()))
    sizes = (reader.samples.size(named.size) for o in seen for named in o.names if named.name == name)
    # An annotation is held against no integer, so that one which it does not equal says nothing of it.
    return any(claim.notation != "annotation" or bound in (None, size) for size in sizes)
