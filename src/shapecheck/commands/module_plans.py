"""What the worker has to know of a file: its import root, what to observe in it, what its comments describe."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from shapecheck import files
from shapecheck.claims.kept_shapes import keeps_shape
from shapecheck.commands.suppress import may_show
from shapecheck.config import Config
from shapecheck.model import Claim, Module, Scope, Site
from shapecheck.shapes import AnyDim, FixedDim, parse_spec
from shapecheck.syntax.functions_by_position import Function, functions_by_position
from shapecheck.worker.messages.plans import UNSAID, ClaimedShape, ModulePlan, ParameterSpec, ShapeOfName


def plan(file: Path, module: Module, config: Config, text: bytes | None = None) -> ModulePlan:
    """The plan of a file; `text` stands in its place, if there is one."""
    root, name = files.module_name(file)
    for folder in config.src:
        if file.absolute().is_relative_to(folder):
            root = folder
            name = ".".join(file.absolute().relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
    described = tuple(
        _parameter_spec(claim, module.sites[s].scope, module.sites[s].name)
        for claim in sorted(module.claims, key=lambda claim: not claim.sure)  # the first one of a parameter counts
        if claim.notation != "annotation" and claim.select in ((), ("leaves",))
        for s in claim.sites[:1]
        if module.sites[s].kind in ("param", "field")
    )
    described += tuple(_described_before(module, {(each.scope, each.parameter) for each in described}))
    described += tuple(_described_after(module, {(each.scope, each.parameter) for each in described}))
    described += tuple(_described_parts(module, {(each.scope, each.parameter) for each in described}))
    printing = debugging_scopes(module, config)
    described += tuple(_guesses(module, printing, {(each.scope, each.parameter) for each in described}))
    return ModulePlan(
        file=os.path.realpath(file),
        path=module.path,
        root=os.path.realpath(root),
        name=name,
        scopes=module.scopes,
        sites=module.sites,
        described=described,
        named=tuple(_named_shapes(module)),
        shapes=tuple(_claimed_shapes(module, ("name", "value", "return"))),
        parameters=tuple(_claimed_shapes(module, ("param",))),
        fields=tuple(_claimed_shapes(module, ("field",))),
        inferred=module.inferred,
        claimed=tuple(sorted({module.sites[c.sites[0]].scope for c in module.claims if c.sites} | printing)),
        names=_names(module),
        hints=module.hints,
        aliases=_aliases(module),
        source="" if text is None else text.decode("latin-1"),
    )


def _parameter_spec(claim: Claim, scope: int, parameter: str) -> ParameterSpec:
    return ParameterSpec(
        scope=scope,
        parameter=parameter,
        spec=claim.spec,
        dtype=claim.dtype,
        vague=bool(claim.readings) or AnyDim() in parse_spec(claim.spec).dims,
        prose=claim.notation == "docstring",
        alternative=claim.group is not None,
        at_times=(claim.spec,) if claim.under_condition else (),
        leaves=bool(claim.select),
    )


def _described_before(module: Module, known: Container[tuple[int, str]]) -> Iterator[ParameterSpec]:
    """What may describe a parameter, or else what a function's first statement makes of it.

    So a comment does that names x above `x = x[..., None]`. Above `x = x / 255` it describes both.
    """
    for claim in module.claims:
        for site in (module.sites[s] for s in claim.sites[1:]):
            if site.kind == "param" and claim.notation == "comment" and (site.scope, site.name) not in known:
                spec = _parameter_spec(claim, site.scope, site.name)
                yield spec if _stays_as_it_was(module, claim, site) else replace(spec, vague=True)


def _stays_as_it_was(module: Module, claim: Claim, parameter: Site) -> bool:
    """Whether what a claim may be about instead of a parameter has its shape: the statement computes it of that."""
    function = _function_of(module, module.scopes[parameter.scope])
    place = module.sites[claim.sites[0]].position
    return function is not None and place is not None and keeps_shape(function, place.line, parameter.name)


def _function_of(module: Module, scope: Scope) -> Function | None:
    position = scope.position
    return functions_by_position(module.lines).get((position.line, position.column)) if position is not None else None


def _described_after(module: Module, known: Container[tuple[int, str]]) -> Iterator[ParameterSpec]:
    """What comments say of a parameter behind a statement that leaves it its shape: `x = x / 255  # (b, h, w)`."""
    for claim in module.claims:
        if claim.notation != "comment" or claim.select or claim.group is not None or not claim.sites:
            continue
        site = module.sites[claim.sites[0]]
        scope = module.scopes[site.scope]
        is_open = claim.target in scope.parameters and (scope.index, claim.target) not in known
        if site.kind not in ("value", "name") or not is_open or site.position is None:
            continue
        function = _function_of(module, scope)
        if function is not None and keeps_shape(function, site.position.line, claim.target):
            yield _parameter_spec(claim, scope.index, claim.target)


def _described_parts(module: Module, known: Container[tuple[int, str]]) -> Iterator[ParameterSpec]:
    """What claims say of parts of parameters; nothing of those of which they say different things."""
    found: dict[tuple[int, str], list[Claim]] = {}
    for each in module.parts:
        if (each.scope, each.part) not in known:
            found.setdefault((each.scope, each.part), []).append(replace(module.claims[each.claim], spec=each.spec))
    for (scope, part), claims in found.items():
        if len({claim.spec for claim in claims}) == 1:
            yield _parameter_spec(claims[0], scope, part)


_NAMED_RESULT = re.compile(r"\s*(?:[-*+]\s+)?[`*]*(?P<name>[A-Za-z_]\w*)[`*]*\s*:\s*[`(\[]*$")
_RESULT = -1  # the scope of what is called so by who gets it


def _named_shapes(module: Module) -> Iterator[ShapeOfName]:
    """The shapes that comments and docstrings give to what has a name."""
    for claim in module.claims:
        if not claim.sites or claim.notation == "annotation" or claim.readings:
            continue
        site = module.sites[claim.sites[0]]
        if site.kind == "return" and claim.notation == "docstring":
            named = _NAMED_RESULT.match(module.lines[claim.span.line - 1][: claim.span.column - 1])
            if named is not None and parse_spec(claim.spec).rank() is not None:
                yield ShapeOfName(_RESULT, named["name"], claim.spec, claim.dtype, of_parameter=False)
            continue
        if claim.select:
            continue
        is_parameter = site.kind in ("param", "field")
        is_plain = not claim.loose or (is_parameter and claim.notation == "docstring")
        if is_plain and claim.target.isidentifier() and parse_spec(claim.spec).rank() is not None:
            yield ShapeOfName(site.scope, claim.target, claim.spec, claim.dtype, of_parameter=is_parameter)


def _claimed_shapes(module: Module, kinds: Collection[str]) -> Iterator[ClaimedShape]:
    """What claims say of sites of these kinds, as variables and results; nothing where they may say several things.

    Of alternatives, `(n, m) or (len(rows), m)`, what all have alike: how many axes there are.
    """
    found: dict[int, list[Claim]] = {}
    for claim in module.claims:
        is_plain = not (claim.loose and "param" not in kinds)  # of an argument plain numbers are its sizes, too
        is_plain &= not claim.select and not claim.readings
        if is_plain and len(claim.sites) == 1 and module.sites[claim.sites[0]].kind in kinds:
            found.setdefault(claim.sites[0], []).append(claim)
    for index, claims in found.items():
        plain: set[str | None] = {each.spec for each in claims if each.group is None}
        specs = plain or {_any_sizes(each) for each in claims}
        spec = specs.pop()
        if spec is not None and not specs:
            place = module.sites[index].position
            lines = {*(claim.span.line for claim in claims), *((place.line,) if place is not None else ())}
            words = [word for line in sorted(lines) for word in _WORD.findall(module.lines[line - 1].partition("#")[0])]
            yield ClaimedShape(index, spec, tuple(dict.fromkeys(words)))


def _any_sizes(claim: Claim) -> str | None:
    """As many axes as a claim says, each of any size; None if it leaves open how many."""
    rank = parse_spec(claim.spec).rank()
    return None if rank is None else " ".join(["_"] * rank)


_WORD = re.compile(r"[^\W\d]\w*")
_TRACING = re.compile(r"\b(?:jit|scan|while_loop|fori_loop|cond|switch|checkpoint|remat|shard_map|pmap|defvjp)\b")
_ORDERED = re.compile(r"\bordered\s*=\s*True\b")


def debugging_scopes(module: Module, config: Config) -> set[int]:
    """The functions that print what JAX may trace, or ask for an order, if any finding of that is wanted.

    Who prints to find a bug has rarely written claims. What a module prints outside of functions is never traced.
    """
    if not any(_TRACING.search(line) or _ORDERED.search(line) for line in module.lines):
        return set()
    wanted = {"print": "SC403", "jax.debug.print": "SC401", "jax.debug.callback": "SC401"}
    found = {
        module.sites[site].scope
        for call in module.debug_calls
        if call.function in wanted and may_show(wanted[call.function], config)
        for site, _ in call.shown
    }
    if may_show("SC406", config):
        found |= {module.sites[site].scope for call in module.debug_calls for site, _ in call.captured}
    if may_show("SC404", config):
        ordered = [number for number, line in enumerate(module.lines, 1) if _ORDERED.search(line)]
        # Who maps a function may be any in its file.
        found |= {scope.index for scope in module.scopes} if ordered else set()
    functions = {outermost_function(module, index) for index in found}
    # A function with claims is evaluated for these, as far as they say what it takes.
    claiming = {outermost_function(module, module.sites[site].scope) for claim in module.claims for site in claim.sites}
    return {index for index in functions - claiming if index is not None}


def outermost_function(module: Module, index: int) -> int | None:
    """The function that no other function is around, among those around a scope and itself."""
    found: int | None = None
    current: int | None = index
    while current is not None:
        found = current if module.scopes[current].kind == "function" else found
        current = module.scopes[current].parent
    return found


def _guesses(module: Module, scopes: Iterable[int], known: Container[tuple[int, str]]) -> Iterator[ParameterSpec]:
    """That the parameters of these functions of which nothing is said may be arrays, of any number of axes."""
    for index in sorted(scopes):
        scope = module.scopes[index]
        in_class = scope.parent is not None and module.scopes[scope.parent].kind == "class"
        for name in scope.parameters[in_class:]:
            if (index, name) not in known:
                yield ParameterSpec(scope=index, parameter=name, spec=UNSAID, dtype="", vague=True)


def _names(module: Module) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """The names of each claim, by its scope, and the sizes beside them: `(N, 3)` tells N from 3."""
    found: dict[tuple[int, tuple[str, ...]], None] = {}
    for claim in module.claims:
        spec = parse_spec(claim.spec)
        fixed = [str(dim.size) for dim in spec.dims if isinstance(dim, FixedDim) and dim.size > 1]
        if spec.names():
            found[(claim.scope, tuple(dict.fromkeys([*spec.names(), *fixed])))] = None
    return tuple(found)


def _aliases(module: Module) -> str:
    """A hash of what aliases of other files mean in a file: an edit there changes what is observed here."""
    if not module.alias_files:
        return ""
    parts = [[c.target, c.spec, c.dtype, c.structure, *map(str, c.select)] for c in module.claims]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
