"""What evaluation proves of values that nobody has made a claim about, in names that are bound where they stand."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from shapecheck.model import ArrayValue, Call, Claim, Evaluation, Module, Span, Value, weakest
from shapecheck.shapes import DTYPES, Size
from shapecheck.shapes.claim_text import ClaimText
from shapecheck.verdicts.evaluation_results import ClaimKey
from shapecheck.verdicts.hold_claims import hold_claims
from shapecheck.verdicts.judge import Verdicts, judge
from shapecheck.verdicts.name_axes import AxisNames, call_reader

_CLASSES = ("Float", "Int", "Bool", "UInt", "Complex", "Key")


NOT_REACHED = "nothing that was evaluated reaches them"
NO_ARRAYS = "they are no arrays"
SCALARS = "they are arrays without axes"
NOT_ALWAYS_ARRAYS = "they are arrays in some calls only"
OTHER_RANKS = "they have other numbers of axes in other calls"
NO_DTYPE = "they have dtypes that no annotation has a name for"
NO_NAME = "an axis has no name there that is right in all calls"
DOES_NOT_HOLD = "what could be said does not hold in all calls, or rests on arguments that were made up"

_MOST_CALLS = 24  # of those that differ: what one shows too many of is a loop over sizes
_FEWEST_VALUES = 3  # that an axis has to have before a product that is right in all of them is no coincidence
_WORD = re.compile(r"[^\W\d]\w*")
_MOST_ROUNDS = 4
_MOST_STACKED = 4  # arrays that code stacks without a number in its text


@dataclass(frozen=True)
class ProvedShape:
    """The dims of the value at a site of a module, and the jaxtyping class of its dtype."""

    path: str
    site: int
    dims: tuple[str, ...]
    dtype: str


@dataclass(frozen=True)
class Proof:
    """What was proved, and of each other place, by path and site, why nothing was."""

    shapes: tuple[ProvedShape, ...]
    others: Mapping[tuple[str, int], str]


def prove_shapes(
    modules: Mapping[str, Module],
    runs: Sequence[Sequence[Evaluation]],
    sites: Mapping[str, Collection[int]],
    text: Mapping[str, ClaimText],
) -> Proof:
    """The shapes that hold in all calls, for the sites of each path, as a comment or annotation like `text` says them.

    What rests on inventions is left out, and so is a name that nothing but the claim itself binds. What is proved may
    bind a name for another place, as it will once it is written; so places are looked at again until nothing is new.
    """
    seen = _values_at(runs, sites)
    proved: list[ProvedShape] = []
    others = {(path, site): NOT_REACHED for path, wanted in sites.items() for site in wanted}
    for _ in range(_MOST_ROUNDS):
        found = _prove_round(modules, runs, seen, text, others)
        if not found:
            break
        modules = _with_claims(modules, [claim for _, claim in found])
        for shape, _ in found:
            proved.append(shape)
            del others[shape.path, shape.site], seen[shape.path, shape.site]
    return Proof(tuple(sorted(proved, key=lambda each: (each.path, each.site))), others)


def _prove_round(
    modules: Mapping[str, Module],
    runs: Sequence[Sequence[Evaluation]],
    seen: Mapping[tuple[str, int], Sequence[_ValueInCall]],
    text: Mapping[str, ClaimText],
    others: dict[tuple[str, int], str],
) -> list[tuple[ProvedShape, Claim]]:
    """What holds beside the claims that the modules have; `others` learns why the rest does not."""
    namer = _AxisNamer(modules)
    shapes: dict[ClaimKey, ProvedShape] = {}
    claims: dict[ClaimKey, Claim] = {}
    numbers = {path: len(module.claims) for path, module in modules.items()}
    for (path, site), calls in sorted(seen.items(), key=lambda item: item[0]):
        proposal = _propose(namer, path, site, calls, text[path])
        if isinstance(proposal, str):
            others[path, site] = proposal
        else:
            key = path, numbers[path]
            numbers[path] += 1
            shapes[key], claims[key] = proposal
            others[path, site] = DOES_NOT_HOLD

    def holds(key: ClaimKey, again: Verdicts) -> bool:
        loose = key in again.loose and not _is_param(modules, claims[key])
        return key in again.good and not loose and weakest(again.rests_on.get(key, ())) != "invented"

    kept = hold_claims(modules, runs, judge(modules, runs), claims, holds)
    return [(shapes[key], claims[key]) for key in sorted(claims.keys() & kept.keys())]


def _with_claims(modules: Mapping[str, Module], claims: Sequence[Claim]) -> dict[str, Module]:
    """The modules as if these claims stood in them, too."""
    changed = dict(modules)
    for claim in claims:
        changed[claim.path] = replace(changed[claim.path], claims=(*changed[claim.path].claims, claim))
    return changed


def _is_param(modules: Mapping[str, Module], claim: Claim) -> bool:
    return modules[claim.path].sites[claim.sites[0]].kind == "param"


@dataclass(frozen=True)
class _ValueInCall:
    """A value of a site in a call."""

    evaluation: Evaluation
    call: Call
    value: Value


def _values_at(
    runs: Sequence[Sequence[Evaluation]], sites: Mapping[str, Collection[int]]
) -> dict[tuple[str, int], list[_ValueInCall]]:
    """What each site showed, the most telling evaluations first: with symbols, and to their end.

    Ranks that were guessed count only where nothing else is known.
    """
    found: dict[tuple[str, int], list[_ValueInCall]] = {}
    for evaluation in sorted((each for run in runs for each in run), key=_trust):
        for call in evaluation.calls:
            for observation in call.observations if call.path in sites else ():
                if observation.site in sites[call.path]:
                    key = call.path, observation.site
                    found.setdefault(key, []).append(_ValueInCall(evaluation, call, observation.value))
    for key, calls in found.items():
        found[key] = [each for each in calls if not _is_guess(each.evaluation)] or calls
    return found


def _trust(evaluation: Evaluation) -> tuple[bool, bool]:
    return evaluation.status != "ok", evaluation.mode != "symbolic"


def _is_guess(evaluation: Evaluation) -> bool:
    guessed = any(each.kind == "rank" and each.provenance == "invented" for each in evaluation.assumptions)
    return guessed or evaluation.other_guess


def _propose(
    namer: _AxisNamer, path: str, site: int, seen: Sequence[_ValueInCall], text: ClaimText
) -> tuple[ProvedShape, Claim] | str:
    """The shape, and a claim of it; or why there is none."""
    arrays = [each.value for each in seen if isinstance(each.value, ArrayValue)]
    ranks = {len(value.shape) for value in arrays}
    dtype = _dtype({value.dtype for value in arrays})
    if len(arrays) != len(seen):
        return NOT_ALWAYS_ARRAYS if arrays else NO_ARRAYS
    if len(ranks) != 1:
        return OTHER_RANKS
    if not text.in_annotation and ranks == {0}:
        return SCALARS
    if text.in_annotation and not dtype:
        return NO_DTYPE
    written = namer.dims(path, site, seen)
    spec = text.spec_of(written) if written is not None else None
    if written is None or spec is None:
        return NO_NAME
    place = namer.modules[path].sites[site]
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


@dataclass(frozen=True)
class _NamedShape:
    """The shape that a value has in a call, as sizes, and what they may be called there."""

    names: AxisNames
    shape: tuple[Size, ...]


class _AxisNamer:
    """Names axes, each as one name that is right in all calls."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self.modules = modules
        self._names: dict[tuple[int, int], AxisNames] = {}

    def dims(self, path: str, site: int, seen: Sequence[_ValueInCall]) -> tuple[str, ...] | None:
        """What the axes of the value at a site may be called; None if one has no name."""
        shapes = [shape for each in self._distinct_calls(seen) if (shape := self._named_shape(each)) is not None]
        if not shapes:
            return None
        words = self._words(path, site)
        dims = [self._dim(shapes, axis, words) for axis in range(len(shapes[0].shape))]
        named = tuple(dim for dim in dims if dim is not None)
        return named if len(named) == len(dims) else None

    def _words(self, path: str, site: int) -> frozenset[str]:
        """The names in the text of the value at a site."""
        position = self.modules[path].sites[site].position
        lines = self.modules[path].lines[position.line - 1 : position.end_line] if position is not None else ()
        return frozenset(_WORD.findall("\n".join(lines)))

    @staticmethod
    def _distinct_calls(seen: Sequence[_ValueInCall]) -> list[_ValueInCall]:
        """One call for each shape that was seen, by who chose it; of calls of the same, the one without mapped axes."""
        found: dict[object, _ValueInCall] = {}
        for each in sorted(seen, key=lambda one: isinstance(one.value, ArrayValue) and bool(one.value.mapped)):
            shape = each.value.shape if isinstance(each.value, ArrayValue) else ()
            found.setdefault((each.evaluation.origin, each.evaluation.mode, shape), each)
        return sorted(found.values(), key=lambda one: _trust(one.evaluation))[:_MOST_CALLS]

    def _named_shape(self, seen: _ValueInCall) -> _NamedShape | None:
        key = id(seen.evaluation), seen.call.number
        if key not in self._names:
            reader = call_reader(self.modules, seen.evaluation, seen.call)
            self._names[key] = AxisNames(reader, seen.evaluation, anew=True)
        names = self._names[key]
        shape = names.reader.samples.shape(seen.value.shape) if isinstance(seen.value, ArrayValue) else None
        return _NamedShape(names, shape) if shape is not None else None

    @staticmethod
    def _dim(shapes: Sequence[_NamedShape], axis: int, words: frozenset[str]) -> str | None:
        """The name of an axis in the most telling call, unless that is a number which others contradict or explain.

        Then it is the integer, or the product of some, that the function sees and that is right in all calls. Where
        all have one value that may be chance: with the user's own sizes, or with a number as small as that of a stack.
        What is 1 in all calls may be a factor that no size tells of, if the value's own text has it.
        """
        sizes = [each.shape[axis] for each in shapes]
        found = shapes[0].names.name(sizes[0])
        known = [each.names.visible_names(size) for each, size in zip(shapes, sizes, strict=True)]
        common = [name for name in known[0] if all(name in each for each in known)]
        values = {size[0] if len(set(size)) == 1 else size for size in sizes}
        ones = set.intersection(*({*each.names.visible_names((1,) * len(each.shape[axis]))} for each in shapes))
        has_hidden_factor = not ones.isdisjoint(words)
        if found is not None and not found.isdigit():
            return found if not has_hidden_factor or found not in known[0] else None
        if len(values) == 1:
            is_chosen = any(each.names.chosen for each in shapes)
            if found is not None:
                return found if is_chosen or not common else None
            is_free = any(not each.names.is_given for each in shapes)
            return common[0] if len(common) == 1 and is_free and sizes[0][0] > _MOST_STACKED else None
        if has_hidden_factor:
            return None
        if common:
            return common[0]
        if len(values) < _FEWEST_VALUES:
            return None
        products = [each.names.visible_products(size) for each, size in zip(shapes, sizes, strict=True)]
        right = set.intersection(*products)
        return right.pop() if len(right) == 1 else None


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
