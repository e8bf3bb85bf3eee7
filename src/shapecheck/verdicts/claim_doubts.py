"""Why a comment, docstring or field that fails may still be meant well, so that it accuses nobody."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from shapecheck.model import ArrayValue, Claim, NamedSize, Observation, TreeValue, Value, arrays_in
from shapecheck.shapes import (
    AnyDim,
    EvaluationError,
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
from shapecheck.verdicts.claim_outcome import Mismatch, dtype_fits, size_at_fault
from shapecheck.verdicts.loop_turns import Turn
from shapecheck.verdicts.second_values import begins_anew
from shapecheck.verdicts.select_arrays import (
    SelectedArray,
    alone,
    as_shown,
    in_front,
    is_mapped,
    is_mapped_within,
    select_described,
    within,
)
from shapecheck.verdicts.unify import natural_site

_AGREEING = 2  # other fields whose comments must agree on a name
_COORDINATES = frozenset("xyzwuv")
_SEVERAL_AXES = re.compile(r"(?:\w+_)?(?:spatial|tensor)(?:_(?:dims|axes|shape))?", re.IGNORECASE)
_NUMBERED = re.compile(
    r"\b(?P<axis>[^\W\d_]+)_?[01]\s*,.*?(?:\.\.\.|…).*?,\s*(?P<last>(?P=axis)_?(?P<number>[^\W\d_]))\b"
)
_PRODUCT = re.compile(r"\w\)?\s+[x×]\s+\(?\w")

Judge = Callable[[Claim, Observation, Turn | None], Mismatch | str | None]
JudgePart = Callable[[Claim, Spec, SelectedArray, Sequence[NamedSize], Turn | None], Mismatch | None]


class ClaimDoubts:
    """The doubts about claims of one call. `judge` holds a claim against an observation, `judge_part` a part of it."""

    def __init__(self, reader: CallReader, claims: Mapping[int, Claim], judge: Judge, judge_part: JudgePart) -> None:
        self.reader, self.claims = reader, claims
        self.samples = reader.samples
        self._judge, self._judge_part = judge, judge_part

    def of_claim(self, claim: Claim, observation: Observation, mismatch: Mismatch, turn: Turn | None) -> str:
        """Why a claim that fails may still be meant well; "" if it is plainly false."""
        value = observation.value
        if claim.notation == "annotation" and self._is_of_field(claim):
            value = as_shown(value)  # jaxtyping means what the record itself holds
        everywhere = within(value) if self._maps_within else ()
        wholes = (replace(observation, value=whole) for whole in itertools.chain(in_front(value), everywhere))
        fits = any(self._judge(claim, w, turn) is None for w in wholes)
        if fits and not self._speaks_of_one_example(is_docstring=claim.notation == "docstring"):
            around = "vmap" if is_mapped(value) else "vmap or scan around it"
            return f"it fits only with the axes of {around} among its own, and nothing else says that these are meant"
        roles = _as_roles(parse_spec(claim.spec))
        if roles is not None and self._judge(replace(claim, spec=str(roles)), observation, turn) is None:
            return "its names may be the roles of axes, as those before an equals sign are"
        if mismatch.reason == "rank" and not claim.marked and self._has_as_many_elements(mismatch.value, claim):
            return "its names may be those of the value's elements, of which there are as many"
        if not claim.marked and self._lists_coordinates(mismatch.value, claim):
            return "its names may be those of coordinates, of which the last axis has as many"
        several = self._stand_for_several(claim)
        if several and (mismatch.reason == "rank" or len(several) > 1):
            return f"{several[0]} may stand for several axes"
        if mismatch.reason == "rank" and self.reader.module.scopes[self.reader.call.scope].for_a_rank:
            return "the docstring speaks of arrays with a certain number of axes, and these may have another"
        if isinstance(value, TreeValue) and not claim.select and self._may_mean_one_part(claim, value):
            leaves = [[part] for part in select_described(claim, value)[0]]
            spec = self.reader.spec(claim)
            if any(self._judge_part(claim, spec, part, observation.names, None) is None for (part,) in leaves):
                return f"it gives one shape for a {value.type} of several arrays, and fits some of them"
        is_node = isinstance(value, TreeValue) and value.kind == "node"
        if is_node and claim.notation == "comment" and not claim.select:
            stack = replace(claim, spec=f"{claim.spec} ...")
            if parse_spec(claim.spec).rank() and self._judge(stack, observation, turn) is None:
                return "it may tell of the axes that a stack of such records has in front"
        in_fields = self._is_of_field(claim) and claim.notation == "comment"
        fresh = [b.name for b in mismatch.bound if b.name in self.reader.fresh]
        if mismatch.reason == "dim" and isinstance(value, TreeValue) and self._varies(claim, observation, fresh):
            return f"the arrays in the {value.type} differ in a size that it has one name for, which each may mean anew"
        if in_fields and mismatch.reason == "dim" and not all(self._is_agreed(claim, name) for name in fresh):
            return "only the comments of other fields bind its names, and they may each speak for themselves"
        if mismatch.reason == "dim" and any(b.name in fresh and str(b.size) == "0" for b in mismatch.bound):
            return "the array that binds its names is empty, where others are not"
        if mismatch.reason == "dim" and (counted := self._counted_axes() & {bound.name for bound in mismatch.bound}):
            return f"{min(counted)} may be how many axes there are, or the last of them"
        if mismatch.reason == "rank" and _may_be_product(claim, mismatch.value):
            return "a number may be the product that it writes"
        if mismatch.reason == "dim" and self._is_of_other_data(claim, observation, mismatch):
            return "a program may make arrays of several sizes, and only comments bind its names"
        if mismatch.reason == "dim" and (equation := self._broken_equation(claim, observation, turn, fresh)):
            return f"{equation} is written, and the sizes that were chosen are others"
        if mismatch.reason == "dim" and (meant := self._meant_by_general(claim, observation, turn, fresh)):
            return f"{meant[0]} may be said of {' and '.join(meant[1:])} alike, and it fits one of them"
        if mismatch.reason == "dim" and (changed := self._changed_by_caller(claim, observation, mismatch, turn)):
            return f"its caller is given a {changed}, which the code may have taken over already"
        if mismatch.reason == "dim" and fresh and self._is_of_later_value(claim, fresh):
            return "the comments that bind its names stand below where its parameter is given another value"
        if mismatch.reason == "dim" and size_at_fault(mismatch) == "1" and self._is_of_several_parameters(claim):
            return "it tells of several arguments at once, of which one of a single element broadcasts"
        if mismatch.reason == "dim" and any(begins_anew(self.reader, self.claims, name, claim) for name in fresh):
            return "the comments that bind its names speak of other data, which may have other sizes"
        return ""

    def _is_of_several_parameters(self, claim: Claim) -> bool:
        """Whether one entry of a docstring says this of several parameters: "a, b: shape (n, 4)"."""
        module = self.reader.module
        if claim.notation != "docstring" or module.sites[claim.sites[0]].kind != "param":
            return False
        beside = (each for each in module.claims if each.span == claim.span and each.sites != claim.sites)
        return any(module.is_about(each, "param") for each in beside)

    def _changed_by_caller(self, claim: Claim, observation: Observation, mismatch: Mismatch, turn: Turn | None) -> str:
        """The parameter of the caller by which an attribute or setting is to be changed, if all else fits; or "".

        So `update_grid(x, G_new)` makes another grid, and then calls what says of it `(n, G)`.
        """
        module, caller = self.reader.module, mismatch.call.caller
        settings = {b.name for b in mismatch.bound if b.source.startswith("self.") or b.source.endswith(".__init__")}
        if caller is None or caller.path != module.path:
            return ""
        parameters = {n for scope in module.scopes if scope.qualname == caller.function for n in scope.parameters}
        for name in settings:
            changed = parameters.intersection((f"{name}_new", f"new_{name}"))
            dims = [AnyDim() if name in Spec((dim,)).names() else dim for dim in parse_spec(claim.spec).dims]
            if changed and self._judge(replace(claim, spec=str(Spec(tuple(dims)))), observation, turn) is None:
                return min(changed)
        return ""

    def _stand_for_several(self, claim: Claim) -> list[str]:
        """The words that may stand for all spatial axes, or for those of a tensor: `(b, spatial, tensor)` of images.

        Of two such nobody knows which axes are whose.
        """
        names = [name for name in parse_spec(claim.spec).names() if _SEVERAL_AXES.fullmatch(name)]
        return names if claim.notation != "annotation" else []

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
                would_hold = self._judge(claim, observation, turn) is None
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
                if self._judge(replace(claim, spec=str(spec)), observation, turn) is None:
                    return (name, *sorted(special))
        return ()

    def _is_described(self, name: str, scope: int) -> bool:
        """Whether a docstring, or what is said of a parameter, has this very name."""
        module = self.reader.module
        claims = (each for each in module.claims if each.scope == scope and name in parse_spec(each.spec).names())
        return any(c.notation == "docstring" or module.is_about(c, "param") for c in claims)

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

    def _counted_axes(self) -> set[str]:
        """The names that end a row of numbered axes, and their numbers: dn and n of `(n, d1, ..., dn)`."""
        texts = (claim.text for claim in self.reader.module.claims if claim.scope == self.reader.call.scope)
        return {name for text in texts for each in _NUMBERED.finditer(text) for name in (each["last"], each["number"])}

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

    def _lists_coordinates(self, value: Value, claim: Claim) -> bool:
        """Whether an unmarked text only has names of coordinates, as many as the last axis: `xy[:, ::-1]  # (y, x)`."""
        dims = parse_spec(claim.spec).dims
        shape = self.samples.shape(value.shape[-1:]) if isinstance(value, ArrayValue) and value.shape else None
        names = {dim.name for dim in dims if isinstance(dim, NamedDim)}
        return len(names) == len(dims) > 1 and names <= _COORDINATES and shape == ((len(dims),) * self.samples.count,)

    def _is_agreed(self, claim: Claim, name: str) -> bool:
        """Whether several other claims mean one size by a name, so that it means the same in all of them."""
        agreeing = 0
        for other in self.claims.values():
            seen = self.reader.seen.get(natural_site(self.reader, other), ())
            if other is not claim and seen and name in parse_spec(other.spec).names():
                agreeing += all(self._judge(other, each, None) is None for each in seen)
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
                claim in formal or self._judge(claim, replace(each, value=alone(each.value)), None) is None
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
            self._judge(claim, replace(each, value=alone(each.value)), None) is None for claim, each in stacked
        )
        return 2 * fitting > len(stacked)

    def _is_of_field(self, claim: Claim) -> bool:
        return self.reader.module.sites[claim.sites[0]].kind == "field"


def _as_roles(spec: Spec) -> Spec | None:
    """A spec such as `(H, W, I=1, O=C)` whose plain names say what axes are for; None if it is none."""
    if not any(isinstance(dim, NamedDim) and dim.label for dim in spec.dims):
        return None
    plain = [isinstance(dim, NamedDim) and not dim.label for dim in spec.dims]
    return Spec(tuple(AnyDim() if is_plain else dim for dim, is_plain in zip(spec.dims, plain, strict=True)))


def _may_be_product(claim: Claim, value: Value) -> bool:
    """Whether `N x D` behind what is one number may be the number itself."""
    return isinstance(value, ArrayValue) and not value.shape and _PRODUCT.search(claim.text) is not None
