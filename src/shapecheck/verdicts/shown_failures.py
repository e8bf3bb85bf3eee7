"""What several evaluations show alike of one claim, and why it may accuse nobody all the same.

An evaluation has sizes, integers and functions that were made up. What follows from these is no mistake of the code;
what is the same whatever they are is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shapecheck.model import ArrayValue, Claim, Module, arrays_in
from shapecheck.model.assumption import KEEPS_NO_AXIS
from shapecheck.shapes import AnyDim, Dim, FixedDim, NamedDim, Spec, VariadicDim, is_variadic, parse_spec
from shapecheck.verdicts.claim_outcome import BoundSize, Mismatch, dtype_fits, size_at_fault
from shapecheck.verdicts.evaluation_results import MADE_UP, ClaimKey, place_of_axis
from shapecheck.verdicts.evidence import EvaluationView, annotation_beside

ShownFailures = Sequence[tuple[EvaluationView, Mismatch]]
"""Evaluations, and how a claim fails in each."""

OTHER_INTEGERS = "nothing says whether {size} follows from other integers, as the size that it is held against does"
SAYS_MORE = "it says more than the annotation, which leaves the size open"
SAYS_MORE_AXES = "it says more than an argument's annotation of the same shape, which leaves some axes open"
OTHER_WORDS = "its names are others than those of the argument, and nothing says whether that has an axis of {size}"
COUNTED_AXES = "an integer counts its axes, and was chosen for the run"
ASKED = "it asks for a number, and the axis has {size} elements since that was chosen: a caller may give so many"
OTHER_DTYPE = "the annotation beside it admits several dtypes, and this one among them"
MADE_INTEGER = "the size that it is held against follows from integers that were made up: others may give the number"
_SYMBOL = re.compile(r"(?!(?:floordiv|mod|min|max)\()[^\W\d]\w*")
_NAMELESS = re.compile(r"dim\d+")  # a size that the function which was evaluated has no name for
# More than anybody writes down: of `for _ in range(order): y = y[..., None] * x` the integer is none of a size.
_MOST_AXES = 8
_LARGEST_STEP = 4  # between a size and one that follows from it


def doubt(module: Module, key: ClaimKey, mismatch: Mismatch, shown: ShownFailures) -> str:
    """Why a claim that fails alike in some evaluations, as in `mismatch`, may be meant well; "" if nothing says so."""
    claim = module.claims[key[1]]
    if _is_number_of_parameter(module, key, shown):
        return MADE_UP
    if isinstance(mismatch.value, ArrayValue) and len(mismatch.value.shape) > _MOST_AXES:
        return COUNTED_AXES
    spec = parse_spec(claim.spec)
    if mismatch.reason == "dim" and (unused := _unused_source(spec, shown)):
        return OTHER_INTEGERS.format(size=unused)
    if _follows_made_integers(claim, shown):
        return MADE_INTEGER
    if _binds_one_of_made(shown) or _has_made_length(spec, shown) or _says_made_length(spec, shown):
        return MADE_UP
    if all(_is_one_by_chance(module, each, other) for each, other in shown):
        return MADE_UP
    if all(_says_more(module, claim, each, m) for each, m in shown):
        return SAYS_MORE
    symbolic = [(each, mismatch) for each, mismatch in shown if each.evaluation.mode == "symbolic"]
    if symbolic and all(_counts_open_axes(module, claim, m, each.evaluation.rank) for each, m in symbolic):
        return SAYS_MORE_AXES
    if _is_in_other_words(module, key, shown):
        return OTHER_WORDS.format(size=" or ".join(b.source for b in mismatch.bound))
    if claim.notation == "code" and all(_is_asked_of_caller(module, claim, each, m) for each, m in shown):
        return ASKED.format(size=size_at_fault(mismatch))
    if mismatch.reason == "dtype" and _is_of_another_member(module, claim, mismatch):
        return OTHER_DTYPE
    return ""


def _is_asked_of_caller(module: Module, claim: Claim, each: EvaluationView, mismatch: Mismatch) -> bool:
    """Whether code asks for a number where an argument, or what it holds, was made with a size of our own: a guard.

    So `assert self.vertices.shape == (6890, 3)` says for which models a method is. What the code itself comes to is no
    caller's, and a number that a claim writes is not ours.
    """
    spec, site, value = parse_spec(claim.spec), module.sites[claim.sites[0]], mismatch.value
    if mismatch.reason != "dim" or not isinstance(value, ArrayValue):
        return False
    written = {
        str(dim.size) for other in module.claims for dim in parse_spec(other.spec).dims if isinstance(dim, FixedDim)
    }
    places = [place_of_axis(spec, axis, len(value.shape)) for axis in range(len(value.shape))]
    dims = [spec.dims[place] if place is not None else None for place in places]
    asked = [
        size for size, dim in zip(value.shape, dims, strict=True) if isinstance(dim, FixedDim) and str(dim.size) != size
    ]
    owner, _, attribute = site.name.partition(".")
    scope = module.scopes[mismatch.call.scope]
    is_given = site.kind == "param" or (bool(attribute) and owner in ("self", *scope.parameters))
    is_made = each.evaluation.origin in ("function", "model") and mismatch.call.caller is None
    return bool(asked) and written.isdisjoint(asked) and is_given and is_made


def _is_of_another_member(module: Module, claim: Claim, mismatch: Mismatch) -> bool:
    """Whether a text has the dtype of one member of a union beside it, and what was made has that of another."""
    beside = [c for c in module.claims if c.notation == "annotation" and c.sites[:1] == claim.sites[:1]]
    is_made = any(isinstance(mismatch.value, ArrayValue) and dtype_fits(c.dtype, mismatch.value) for c in beside)
    return claim.notation != "annotation" and is_made and any(c.dtype == claim.dtype for c in beside)


def _follows_made_integers(claim: Claim, shown: ShownFailures) -> bool:
    """Whether a claim has a number where the axis is as long as integers that were made up, which nothing limits.

    Of `zeros(dim + padding)`, which is called a `Float[Array, "3"]`, nobody knows that whoever calls it makes three.
    What has the size of an axis of an argument, or always the same number, is as long for them, too; and what has that
    of an integer which the claim names elsewhere is another axis. Where one number of several in a comment is so, the
    `(b, 7, 4, 15)` are those of a run that its author saw.
    """
    spec = parse_spec(claim.spec)
    if any(mismatch.reason != "dim" or not each.evaluation.integers for each, mismatch in shown):
        return False
    numbers = {axis for axis, dim in enumerate(spec.dims) if isinstance(dim, FixedDim)}
    refuted = {mismatch.axis for _, mismatch in shown}
    if not refuted <= numbers:
        return False
    if all(_has_number_elsewhere(spec, mismatch) for _, mismatch in shown):
        return False
    of_run = claim.notation != "annotation" and spec.rank() is not None
    return any(_has_made_size(axis, spec, shown) for axis in (numbers if of_run else numbers & refuted))


def _has_number_elsewhere(spec: Spec, mismatch: Mismatch) -> bool:
    """Whether the number that a claim gives to the axis at fault is that of another axis: they stand the wrong way."""
    shape = mismatch.value.shape if isinstance(mismatch.value, ArrayValue) else ()
    number = spec.dims[mismatch.axis] if mismatch.axis is not None else None
    pairs = list(zip(spec.dims, shape, strict=False)) if len(shape) == len(spec.dims) else []
    return isinstance(number, FixedDim) and any(size == str(number.size) and dim != number for dim, size in pairs)


def _has_made_size(axis: int, spec: Spec, shown: ShownFailures) -> bool:
    """Whether an axis has the size of made-up integers, another one in each evaluation."""
    elsewhere = spec.names()
    sizes: set[str] = set()
    for each, mismatch in shown:
        shape = mismatch.value.shape if isinstance(mismatch.value, ArrayValue) else ()
        size = shape[axis] if axis < len(shape) else ""
        made = {integer for _, integer in each.evaluation.integers}
        named = {integer for name, integer in each.evaluation.integers if name.rpartition(".")[2] in elsewhere}
        of_argument = {other for _, other in each.evaluation.sizes} - made
        if not size.isdigit() or size in of_argument | named:
            return False
        sizes.add(size)
    return len(sizes) > 1


def _binds_one_of_made(shown: ShownFailures) -> bool:
    """Whether a comment binds a name to 1, beside an array of which nobody says how many axes it has, or how long.

    Of a `scale` that is made up as a vector, `(d, n)` beside `x[None, :] * scale` shows a d of 1.
    """

    def is_made(each: EvaluationView, mismatch: Mismatch) -> bool:
        of_one = any(bound.size == "1" and bound.source.startswith("comment") for bound in mismatch.bound)
        return of_one and any(a.kind in ("sizes", "rank") and a.provenance == "invented" for a in each.assumptions)

    return all(mismatch.reason == "dim" and is_made(each, mismatch) for each, mismatch in shown)


def _is_one_by_chance(module: Module, each: EvaluationView, mismatch: Mismatch) -> bool:
    """Whether an axis has one element in a run in which a size that no claim here names was made equal to another.

    With as many steps as a window is long there is one window, and arrays of any number of windows broadcast with that.
    """
    scope = mismatch.call.scope
    named = {n for claim in module.claims if claim.scope == scope for n in parse_spec(claim.spec).names()}
    ties = (a for a in each.assumptions if a.kind == "tie" and a.provenance in ("alias", "invented"))
    is_tied = any(a.subject not in named for a in ties)
    is_made = each.evaluation.origin in ("function", "model")
    return mismatch.reason == "dim" and size_at_fault(mismatch) == "1" and is_tied and is_made


def _has_made_length(spec: Spec, shown: ShownFailures) -> bool:
    """Whether the axis that does not fit always has as many elements as a sequence that was made up, however many.

    Whoever makes `layers: tuple[Layer, ...]` makes as many as there are rows in what is handed on to them. That is no
    matter where the axes stand in another order than claimed.
    """
    lengths: set[str] = set()
    for each, mismatch in shown:
        shape = mismatch.value.shape if isinstance(mismatch.value, ArrayValue) else ()
        dim = spec.dims[mismatch.axis] if mismatch.axis is not None and mismatch.axis < len(spec.dims) else None
        if any(bound.size in shape for bound in mismatch.bound if isinstance(dim, NamedDim) and bound.name == dim.name):
            return False
        counted = (a for a in each.assumptions if (a.kind, a.provenance) == ("value", "invented"))
        made = {a.value for a in counted if a.value.isdigit()}
        size = size_at_fault(mismatch)
        if mismatch.reason != "dim" or size not in made:
            return False
        lengths.add(size)
    return len(lengths) > 1


def _says_made_length(spec: Spec, shown: ShownFailures) -> bool:
    """Whether an axis is claimed to be as long as a made-up sequence, `len(grid)`, and no axis of the value is.

    Whoever makes a grid makes a table for as many points.
    """
    for each, mismatch in shown:
        dim = spec.dims[mismatch.axis] if mismatch.axis is not None and mismatch.axis < len(spec.dims) else None
        lengths = {bound.size for bound in mismatch.bound if bound.name.startswith("len(") and bound.name in str(dim)}
        made = {a.value for a in each.assumptions if (a.kind, a.provenance) == ("value", "invented")}
        shape = mismatch.value.shape if isinstance(mismatch.value, ArrayValue) else ()
        if mismatch.reason != "dim" or not lengths or not lengths <= made or not lengths.isdisjoint(shape):
            return False
    return True


def are_alike(mismatch: Mismatch, other: Mismatch) -> bool:
    """Whether two evaluations show the same; a number of axes that an invention changes is not the same.

    Were the array that was made up for a field a number, `total / count` would be one, as its claim says.
    """
    if (mismatch.reason, mismatch.axis) != (other.reason, other.axis):
        return False
    values = mismatch.value, other.value
    if mismatch.reason != "rank" or not all(isinstance(each, ArrayValue) for each in values):
        return True
    axes = {len(each.shape) for each in values if isinstance(each, ArrayValue)}
    return len(axes) == 1


def makes_function(view: EvaluationView, what: str) -> bool:
    """Whether a function was made up that does this. What draws vectors keeps arrays, as another one does, too."""
    return any(each.kind == "value" and each.value.endswith(what) for each in view.assumptions)


def is_outside_of_functions(mismatch: Mismatch, shown: ShownFailures) -> bool:
    """Whether the axis that does not fit is there whatever functions were made up, so that none of them brings it.

    They may change how many axes there are behind it.
    """
    if not any(makes_function(each, KEEPS_NO_AXIS) for each, _ in shown):
        return False
    names: list[set[str]] = []
    for each, other in shown:
        shape = other.value.shape if isinstance(other.value, ArrayValue) else ()
        if mismatch.axis is None or mismatch.axis >= len(shape):
            return False
        names.append({name for name, size in each.evaluation.sizes if size == shape[mismatch.axis]})
    return bool(set.intersection(*names))


def is_written_size(module: Module, shown: ShownFailures) -> bool:
    """Whether the axis that does not fit has the size of a dim that claims name: then no invented array brought it.

    Or always so much more or less than it, as of `x[:, 1:]`, for dims of different sizes.
    """
    names = {name for claim in module.claims for name in parse_spec(claim.spec).names()}
    near: list[dict[tuple[str, int], str]] = []  # in each evaluation the names and steps, and the sizes of the names
    for each, mismatch in shown:
        shape = mismatch.value.shape if isinstance(mismatch.value, ArrayValue) else ()
        size = shape[mismatch.axis] if mismatch.axis is not None and mismatch.axis < len(shape) else ""
        sizes = [(name, other) for name, other in each.evaluation.sizes if name in names]
        if any(other == size for _, other in sizes if size):
            return _is_known(each, mismatch)
        if size.isdigit():
            steps = ((name, int(size) - int(other), other) for name, other in sizes if other.isdigit())
            near.append({(name, step): other for name, step, other in steps if abs(step) <= _LARGEST_STEP})
    always = set.intersection(*map(set, near)) if near else set()
    return any(len({each[key] for each in near}) > 1 for key in always)


def _is_number_of_parameter(module: Module, key: ClaimKey, shown: ShownFailures) -> bool:
    """Whether a text gives a parameter a number of elements, where a record brought a size that is anything.

    What callers pass may well have that number: `state: of shape [1, ...]`.
    """
    claim = module.claims[key[1]]
    if claim.notation == "annotation" or module.sites[claim.sites[0]].kind != "param":
        return False
    dims = parse_spec(claim.spec).dims
    axes = {mismatch.axis for _, mismatch in shown if mismatch.reason == "dim" and mismatch.axis is not None}
    is_number = bool(axes) and all(axis < len(dims) and isinstance(dims[axis], FixedDim) for axis in axes)
    return is_number and any(_NAMELESS.fullmatch(size_at_fault(mismatch)) for _, mismatch in shown)


def _unused_source(spec: Spec, shown: ShownFailures) -> str:
    """The integer that a claim gives an axis, if it was made up and the axis has a size made of others, `2 * half`.

    An author may mean that the one follows from the others, `total = left + right`. Nobody does of what the code gives
    to another axis, nor of a single integer in the place of another.
    """
    sizes = {size_at_fault(mismatch) for _, mismatch in shown}
    if len(shown) > 1 and len(sizes) == 1:
        return ""  # whatever integers are made up, it stays: it is written in the code
    unused = [_unused_integer(each, mismatch, spec) for each, mismatch in shown]
    made_of_others = (
        size.isdigit() and size not in {known for _, known in (*each.evaluation.integers, *each.evaluation.sizes)}
        for each, mismatch in shown
        if (size := size_at_fault(mismatch))
    )
    first = unused[0]
    if first is None or not all(unused) or not any(made_of_others):
        return ""
    # Of a function of one integer nothing else was made up that it could follow from.
    others = {name for each, _ in shown for name, _ in (*each.evaluation.integers, *each.evaluation.sizes)}
    return first.source if others - {first.name, first.source} else ""


def _unused_integer(each: EvaluationView, mismatch: Mismatch, spec: Spec) -> BoundSize | None:
    """The made-up integer that alone a claim asks for at the axis at fault, if no array has an axis of that size."""
    dim = spec.dims[mismatch.axis] if mismatch.axis is not None and mismatch.axis < len(spec.dims) else None
    name = dim.name if isinstance(dim, NamedDim) else None
    bound = next((each for each in mismatch.bound if each.name == name), None)
    if bound is None or bound.line is not None:
        return None
    if not any(bound.size == made for _, made in each.evaluation.integers):
        return None
    observed = (o.value for call in each.evaluation.calls for o in call.observations)
    seen = any(bound.size in array.shape for value in observed for array in arrays_in(value))
    return None if seen else bound


def _is_in_other_words(module: Module, key: ClaimKey, shown: ShownFailures) -> bool:
    """Whether a text that has a name of its own for each axis of an argument gives some of them those of integers.

    The axis is as long as the caller likes, and nothing says that callers pass another length than the integer: of
    `# (batch, emb_dim)` behind `n, d = x.shape`, with `self.emb_dim`, each name may be that of the same axis.
    """
    claim = module.claims[key[1]]
    dims = parse_spec(claim.spec).dims
    if claim.notation == "annotation":
        return False
    for each, mismatch in shown:
        shape = mismatch.value.shape if isinstance(mismatch.value, ArrayValue) else ()
        names = {size: name for name, size in each.evaluation.sizes}
        if mismatch.reason != "dim" or not len(dims) == len(shape) == len(set(shape)) > 1:
            return False
        sizes = [size for _, size in each.evaluation.sizes]
        if not any(sizes[start : start + len(shape)] == [*shape] for start in range(len(sizes))):
            return False  # no argument as it came: turned, or of axes of two
        if not mismatch.bound or any(bound.line is not None or bound.size in shape for bound in mismatch.bound):
            return False  # some name means an axis already, or what does not fit comes from a claim
        pairs = zip(dims, shape, strict=True)
        if not all(isinstance(dim, NamedDim) and names.get(size, dim.name) != dim.name for dim, size in pairs):
            return False
    return bool(shown)


def _is_known(each: EvaluationView, mismatch: Mismatch) -> bool:
    """Whether what the claim asks for was not made up itself, as an axis is of which a comment only says `j|k`."""
    if not any(a.kind == "sizes" and a.provenance == "invented" for a in each.assumptions):
        return True
    sizes = {size for _, size in each.evaluation.sizes}
    return all(not bound.size.isdigit() or bound.size in sizes for bound in mismatch.bound)


def has_another_name(modules: Mapping[str, Module], key: ClaimKey, shown: ShownFailures) -> bool:
    """Whether the axis that does not fit always has the size of another dim than its claim's, by a claim that holds.

    The code ran with two sizes for the two, whatever arrays were invented.
    """
    dims = parse_spec(modules[key[0]].claims[key[1]].spec).dims
    for each, mismatch in shown:
        shape = mismatch.value.shape if isinstance(mismatch.value, ArrayValue) else ()
        if mismatch.axis is None or len(dims) != len(shape):
            return False
        dim, size = dims[mismatch.axis], shape[mismatch.axis]
        others = [
            axis
            for other, result in each.results.items()
            if other != key and result.good and result.reader is not None
            for axis in result.reader.axes_of(modules[other[0]].claims[other[1]])
        ]
        if not isinstance(dim, NamedDim | FixedDim) or any(axis[:2] == (str(dim), size) for axis in others):
            return False
        # A number may well be the size of what only comments name.
        is_number = isinstance(dim, FixedDim)
        if not any(found == size and (in_code or not is_number) for name, found, in_code in others if name != str(dim)):
            return False
    return bool(shown)


def _says_more(module: Module, claim: Claim, each: EvaluationView, mismatch: Mismatch) -> bool:
    """Whether a text only gives a number to an axis that the annotation beside it calls by a name: `(n, 3)`.

    Both may hold: who calls it with `points: Float[Array, "n d"]` gives three coordinates, and a test two. So it is,
    where arguments were made up, with an integer of the model, whose size and that of d were made up apart.
    """
    value, axis = mismatch.value, mismatch.axis
    annotation = _annotation_of_site(module, claim)
    if annotation is None or mismatch.reason != "dim" or axis is None or not isinstance(value, ArrayValue):
        return False
    said, annotated = (parse_spec(each.spec) for each in (claim, annotation))
    places = [place_of_axis(spec, axis, len(value.shape)) for spec in (said, annotated)]
    if places[0] is None or places[1] is None:
        return False
    dim, other = said.dims[places[0]], annotated.dims[places[1]]
    is_number = isinstance(dim, FixedDim) and dim.size > 1
    if annotation_beside(module, claim, each.evaluation, mismatch) is not None:
        integers = {each.name for each in mismatch.bound if each.line is None}
        names = Spec((dim,)).names()
        is_number = isinstance(dim, FixedDim) or (bool(names) and integers.issuperset(names))
    return is_number and dim != other and isinstance(other, NamedDim | AnyDim)


def _counts_open_axes(module: Module, claim: Claim, mismatch: Mismatch, rank: int) -> bool:
    """Whether a text has sizes of its own for what an argument's annotation leaves open, of what has that one's shape.

    After `x: Float[Array, "b *data"]` it may say `(b, h, w, 3)` of `x + 1`: so are the arrays that its author had.
    """
    if claim.notation not in ("comment", "docstring") or mismatch.reason not in ("rank", "dim"):
        return False
    if not isinstance(mismatch.value, ArrayValue):
        return False
    dims, bound = parse_spec(claim.spec).dims, {each.name for each in mismatch.bound}
    for annotation in module.claims:
        site = module.sites[annotation.sites[0]]
        if annotation.notation != "annotation" or site.kind != "param" or site.scope != mismatch.call.scope:
            continue
        annotated = parse_spec(annotation.spec).dims
        place = next((place for place, dim in enumerate(annotated) if is_variadic(dim)), None)
        if place is None or not _is_shape(mismatch.value.shape, annotated, place, rank):
            continue
        behind = len(annotated) - place - 1
        around = [*zip(dims, annotated[:place], strict=False), *zip(dims[::-1], annotated[:place:-1], strict=False)]
        opened = dims[place : len(dims) - behind]
        if len(dims) < place + behind or not opened or any(dim not in (other, AnyDim()) for dim, other in around):
            continue
        if all(isinstance(dim, FixedDim) or (isinstance(dim, NamedDim) and dim.name not in bound) for dim in opened):
            return True
    return False


def _is_shape(shape: Sequence[str], annotated: Sequence[Dim], place: int, rank: int) -> bool:
    """Whether symbols are those of an annotation with so many axes at one open place: `(b, data0)` of `b *data`."""
    behind = len(annotated) - place - 1
    variadic = annotated[place]
    name = variadic.name if isinstance(variadic, VariadicDim) else "dim"
    fixed = [*annotated[:place], *annotated[place + 1 :]]
    opened = [re.fullmatch(rf"{name}\d+", size) for size in shape[place : len(shape) - behind]]
    around = [*shape[:place], *shape[len(shape) - behind :]]
    return len(opened) == rank and all(opened) and [*map(str, fixed)] == around


def _annotation_of_site(module: Module, claim: Claim) -> Claim | None:
    """The annotation of the parameter or result that a text describes."""
    site = claim.sites[0]
    if claim.notation == "annotation" or module.sites[site].kind not in ("param", "return"):
        return None
    return next((c for c in module.claims if c.notation == "annotation" and c.sites[:1] == (site,)), None)


def is_of_own_variables(claim: Claim, shown: ShownFailures) -> bool:
    """Whether the code has variables for all names of a claim, and what does not fit follows from these alone.

    After `b, t, d = x.shape` that holds for any x, whatever was made up: `jnp.concatenate([x, x], 1)  # (b, t, d)`.
    """
    names = parse_spec(claim.spec).names()
    symbolic = [mismatch for each, mismatch in shown if each.evaluation.mode == "symbolic"]
    for mismatch in symbolic:
        own = {bound.name for bound in mismatch.bound if bound.line is None and bound.source == bound.name}
        if mismatch.axis is None or not own.issuperset(names) or not isinstance(mismatch.value, ArrayValue):
            return False
        known = {word for bound in mismatch.bound for word in _SYMBOL.findall(bound.size)}
        if not known.issuperset(_SYMBOL.findall(mismatch.value.shape[mismatch.axis])):
            return False
    return bool(symbolic)
