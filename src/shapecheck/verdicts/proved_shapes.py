"""What evaluation proves of values that nobody has made a claim about, in names that are bound where they stand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shapecheck.model import ArrayValue, Call, Claim, Evaluation, Module, Span, Value, weakest
from shapecheck.shapes import DTYPES
from shapecheck.shapes.claim_text import ClaimText
from shapecheck.verdicts.evaluation_results import ClaimKey
from shapecheck.verdicts.hold_claims import hold_claims
from shapecheck.verdicts.judge import Verdicts, judge
from shapecheck.verdicts.name_axes import AxisNames, call_reader

_CLASSES = ("Float", "Int", "Bool", "UInt", "Complex", "Key")


@dataclass(frozen=True)
class ProvedShape:
    """The dims of the value at a site of a module, and the jaxtyping class of its dtype."""

    path: str
    site: int
    dims: tuple[str, ...]
    dtype: str


def prove_shapes(
    modules: Mapping[str, Module],
    runs: Sequence[Sequence[Evaluation]],
    sites: Mapping[str, Collection[int]],
    text: Mapping[str, ClaimText],
) -> list[ProvedShape]:
    """The shapes that hold in all calls, for the sites of each path, as a comment or annotation like `text` says them.

    What rests on inventions is left out, and so is a name that nothing but the claim itself binds.
    """
    seen = _values_at(runs, sites)
    shapes: dict[ClaimKey, ProvedShape] = {}
    claims: dict[ClaimKey, Claim] = {}
    numbers = {path: len(module.claims) for path, module in modules.items()}
    for (path, site), calls in sorted(seen.items(), key=lambda item: item[0]):
        proposal = _propose(modules, path, site, calls, text[path])
        if proposal is not None:
            key = path, numbers[path]
            numbers[path] += 1
            shapes[key], claims[key] = proposal
    own = set(claims)

    def holds(key: ClaimKey, again: Verdicts) -> bool:
        loose = key in again.loose and not _is_param(modules, claims[key])
        return key in again.good and not loose and weakest(again.rests_on.get(key, ())) != "invented"

    kept = hold_claims(modules, runs, judge(modules, runs), claims, holds)
    return [shapes[key] for key in sorted(own & kept.keys())]


def _is_param(modules: Mapping[str, Module], claim: Claim) -> bool:
    return modules[claim.path].sites[claim.sites[0]].kind == "param"


_Values = list[tuple[Evaluation, Call, Value]]


def _values_at(
    runs: Sequence[Sequence[Evaluation]], sites: Mapping[str, Collection[int]]
) -> dict[tuple[str, int], _Values]:
    """What each site showed, the most telling evaluations first: with symbols, and to their end."""
    found: dict[tuple[str, int], _Values] = {}
    for evaluation in sorted((each for run in runs for each in run), key=_trust):
        for call in evaluation.calls:
            for observation in call.observations if call.path in sites else ():
                if observation.site in sites[call.path]:
                    key = call.path, observation.site
                    found.setdefault(key, []).append((evaluation, call, observation.value))
    return found


def _trust(evaluation: Evaluation) -> tuple[bool, bool]:
    return evaluation.status != "ok", evaluation.mode != "symbolic"


def _propose(
    modules: Mapping[str, Module], path: str, site: int, seen: _Values, text: ClaimText
) -> tuple[ProvedShape, Claim] | None:
    module = modules[path]
    arrays = [value for _, _, value in seen if isinstance(value, ArrayValue)]
    ranks = {len(value.shape) for value in arrays}
    dtype = _dtype({value.dtype for value in arrays})
    if len(arrays) != len(seen) or len(ranks) != 1 or (not text.in_annotation and ranks == {0}):
        return None
    if text.in_annotation and not dtype:
        return None
    evaluation, call, value = seen[0]
    if not isinstance(value, ArrayValue) or value.mapped or value.hidden:
        return None
    reader = call_reader(modules, evaluation, call)
    shape = reader.samples.shape(value.shape)
    names = AxisNames(reader, evaluation, anew=True)
    dims = [names.name(size) for size in shape] if shape is not None else [None]
    written = tuple(dim for dim in dims if dim is not None)
    spec = text.spec_of(written) if len(written) == len(dims) else None
    if spec is None:
        return None
    place = module.sites[site]
    claim = Claim(
        path=path,
        span=Span(place.position.line if place.position is not None else 1, 1, 1, 1),
        notation="annotation" if text.in_annotation else "comment",
        text=text.with_dims(written),
        spec=str(spec),
        dtype=dtype if text.in_annotation else "",
        target="return" if place.kind == "return" else place.name,
        scope=place.scope,
        sites=(site,),
    )
    return ProvedShape(path, site, written, dtype), claim


def _dtype(dtypes: Collection[str]) -> str:
    """The jaxtyping class of all these dtypes; "" if there is none."""
    keys = {"prng_key" if each.startswith("key<") else each for each in dtypes}
    return next((name for name in _CLASSES if keys <= (DTYPES[name] or frozenset())), "")


def dialect_of(module: Module) -> ClaimText:
    """How the comments of a file write dims: round or square, as most do."""
    square = sum(_bracket(claim) == "[" for claim in _comments(module))
    is_square = 2 * square > sum(1 for _ in _comments(module))
    return ClaimText("[", (), ", ", "]") if is_square else ClaimText("(", (), ", ", ")", lone_comma=True)


def _comments(module: Module) -> Iterator[Claim]:
    return (claim for claim in module.claims if claim.notation == "comment" and _bracket(claim))


def _bracket(claim: Claim) -> str:
    return next((char for char in claim.text if char in "(["), "")
