"""Findings in words: what is wrong, then actual, expected, bindings and where they came from."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence

from shapecheck.model import (
    SNIPPET,
    ArrayValue,
    Claim,
    Evaluation,
    Failure,
    Finding,
    Frame,
    Module,
    Span,
    Value,
    call_part,
)
from shapecheck.rules import RULES
from shapecheck.shapes import SpecError, parse_dim, parse_spec
from shapecheck.verdicts.claim_outcome import BoundSize, Mismatch
from shapecheck.verdicts.evidence import annotation_beside
from shapecheck.verdicts.judge import Contradiction
from shapecheck.verdicts.whole_sizes import whole_sizes

_CODES = {"param": "SC202", "return": "SC203", "value": "SC204", "name": "SC204", "field": "SC205", "yielded": "SC203"}


# Multiples of smaller sizes mean nothing: everything is some multiple of 2.
_SMALLEST_NAMED = 15
_JAX_FUNCTION = re.compile(r"\b(?:floordiv|mod)\(")
_NAMELESS = re.compile(r"\bdim\d+\b")  # a symbol for what the function that was evaluated has no name for
_OF_DOTS = re.compile(r"\bdim(\d)\b")
_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"(?<![\w.])\d+")
_IS_NONE = " is None"  # ends what is required of an integer that may be left out
_MOST_INTEGERS = 4  # that one finding names
_MOST_SAID = 2  # of them, parameters of which a caller says something else
# Any axis may happen to have these, whatever else has.
_SAID_BY_NONE = ("0", "1")


def mismatch_finding(module: Module, claim: Claim, false: Contradiction) -> Finding:
    """The finding of a claim that evaluation contradicts."""
    mismatch, evaluation = false.mismatch, false.evaluation
    code = _code(module, claim, mismatch)
    observed, shown = _observed_text(claim, mismatch, evaluation), whole_sizes(evaluation)
    rule = RULES[code]
    message = rule.message.format(
        notation=claim.notation,
        claimed=_claim_text(claim, mismatch),
        target=_target(claim).removeprefix("argument ") + mismatch.way,
        observed=observed,
        text=claim.text,
    )
    other = annotation_beside(module, claim, evaluation, mismatch)
    if other is not None:
        annotated = f"{_target(claim)} is annotated {other.text} on line {other.span.line}"
        message = f"{claim.notation} says {_claim_text(claim, mismatch)}, but {annotated}: one of the two is wrong"
    return Finding(
        code=code,
        severity=rule.severity,
        path=module.path,
        span=claim.span,
        message=message,
        details=tuple(_details(module, mismatch, evaluation)),
        claimed=mismatch.wanted or claim.text,
        observed=observed,
        bindings=tuple((b.name, shown(b.size)) for b in mismatch.bound),
        stage=mismatch.call.stage,
    )


def failure_finding(evaluation: Evaluation, failure: Failure, frame: Frame, lines: Sequence[str]) -> Finding:
    """SC301, or SC305 where a tie lets the code run: the user's own line, the operation and the arrays on it."""
    rule = RULES["SC305" if failure.requires else "SC301"]
    operation = failure.operation or "the operation"
    names = {size: name for name, size in reversed(evaluation.sizes) if size.isdigit()}
    arrays = ", ".join(f"{name}: {_with_names(text, names)}" for name, text in failure.arrays)
    _, is_tie, other = failure.requires.partition(" = ")
    are_named = is_tie and {*_NAME.findall(other)} and {*_NAME.findall(other)} <= dict(evaluation.sizes).keys()
    contrary = "tell apart" if are_named else "leave open"
    message = rule.message.format(
        operation=operation, reason=failure.message, requires=_requires_text(evaluation, failure), contrary=contrary
    )
    details = [f"with {arrays}"] if arrays else []
    if evaluation.mode == "sized" and evaluation.sizes:
        details.append(_sizes_text(evaluation))
    if where := _integers_text(evaluation, failure):
        details.append(where)
    if evaluation.sizes and not failure.requires:
        details.append(f"{evaluation.tried} assignments of sizes were tried, and it fits none of them")
    details += _describe_switches(evaluation)
    details.append(f"in {frame.function}, evaluated for {evaluation.target}")
    # That one size follows from another (`m_rfft` from `m`) is mostly meant, though no claim says so.
    is_expression = bool(is_tie) and not other.replace(".", "").isidentifier() and not other.isdigit()
    is_relation = is_expression and not failure.of_two_kinds
    is_left_out = failure.requires.endswith(_IS_NONE)  # who gives a size that may be None may well know which
    return Finding(
        code=rule.code,
        severity="note" if is_relation or is_left_out else rule.severity,
        path=frame.path,
        span=line_span(lines, frame.line),
        message=message,
        details=tuple(details),
        observed=arrays,
    )


def _requires_text(evaluation: Evaluation, failure: Failure) -> str:
    """What the code requires, where axes of `...` have no name of their own: `axis 0 of ... = n_heads`."""
    own = dict(evaluation.sizes)
    return _OF_DOTS.sub(lambda m: m[0] if m[0] in own else f"axis {m[1]} of ...", failure.requires)


def _with_names(array: str, names: Mapping[str, str]) -> str:
    """`float32[n=68, 3]` of `float32[68, 3]`."""
    dtype, _, dims = array.removesuffix("]").partition("[")
    return f"{dtype}[{', '.join(f'{names[d]}={d}' if d in names else d for d in dims.split(', '))}]"


def line_span(lines: Sequence[str], line: int) -> Span:
    """The text of one source line, without its indentation."""
    if not 1 <= line <= len(lines):
        return Span(max(line, 1), 1, max(line, 1), 1)
    text = lines[line - 1]
    start = len(text) - len(text.lstrip())
    return Span(line, start + 1, line, max(len(text.rstrip()), start) + 1)


def _code(module: Module, claim: Claim, mismatch: Mismatch) -> str:
    if mismatch.reason == "dtype":
        return "SC206"
    if mismatch.reason == "structure":
        return "SC209"
    if claim.notation == "comment":
        return "SC201"
    if claim.notation == "docstring":
        return "SC207"
    if claim.notation == "code":
        return "SC208"
    kind = module.sites[claim.sites[0]].kind
    if kind == "called":  # an argument that a callable is given, or what it gives
        return "SC203" if call_part(claim.select) == "result" else "SC202"
    return _CODES[kind]


def _claim_text(claim: Claim, mismatch: Mismatch) -> str:
    """What is claimed; of `shape=(n,), dtype=jnp.float32` the text has the shape alone."""
    if mismatch.wanted:
        return mismatch.wanted
    apart = mismatch.reason == "dtype" and claim.text.startswith(("(", "["))
    return f"{claim.text} of {claim.dtype.lower()}" if apart else claim.text


def _target(claim: Claim) -> str:
    return "the return value" if claim.target == "return" else claim.target or "the value"


def _observed_text(claim: Claim, mismatch: Mismatch, evaluation: Evaluation) -> str:
    value = mismatch.value
    if not isinstance(value, ArrayValue) or mismatch.wanted:
        return _structure(value)
    if mismatch.reason == "dtype":
        return value.dtype
    names = {b.size: b.name for b in reversed(mismatch.bound)}
    names = {**{size: name for name, size in evaluation.sizes}, **names}
    names = {size: name for size, name in names.items() if size not in _SAID_BY_NONE}
    own = {(b.name, b.size) for b in mismatch.bound}
    shown = whole_sizes(evaluation)
    dims = []
    claimed = itertools.chain(map(str, parse_spec(claim.spec).dims), itertools.repeat(""))
    is_as_long = parse_spec(claim.spec).rank() == len(value.shape)
    for size, name in zip(value.shape, claimed, strict=False):  # of several names for a size, the one that stands there
        stands = (name, size) in own and (is_as_long or size not in _SAID_BY_NONE)
        dims.append(_dim(shown(size), {**names, size: name} if stands else names))
    return f"({dims[0]},)" if len(dims) == 1 else f"({', '.join(dims)})"


def _dim(text: str, names: dict[str, str]) -> str:
    """A size with the name it has, or the name that it is the smallest multiple of: `n_embd=80`, `4*n_embd=320`."""
    if not text.isdigit():
        return _as_python(_NAMELESS.sub(lambda found: names.get(found[0], found[0]), text))
    if text in names:
        return f"{names[text]}={text}"
    sizes = [int(size) for size in names if size.isdigit() and int(size) > _SMALLEST_NAMED]
    factors = {int(text) // size: size for size in sizes if int(text) in [n * size for n in range(2, 9)]}
    if not factors:
        return text
    least = min(factors)
    return f"{least}*{names[str(factors[least])]}={text}"


def _as_python(text: str) -> str:
    """A size over symbols as Python writes it: `(n + 1)//2` of JAX's `floordiv(n + 1, 2)`."""
    if not _JAX_FUNCTION.search(text):
        return text
    try:
        return str(parse_dim(text))
    except SpecError:  # with a name that is no word
        return text


def _structure(value: Value) -> str:
    if isinstance(value, ArrayValue):
        return f"{value.dtype}[{', '.join(value.shape)}]"
    children = getattr(value, "children", ())
    if children:
        inner = ", ".join(_structure(c) for c in children[:4]) + (", ..." if len(children) > 4 else "")
        return f"{value.type}({inner})"
    return value.type


def _details(module: Module, mismatch: Mismatch, evaluation: Evaluation) -> list[str]:
    details = []
    bindings = "; ".join(_bindings(mismatch.bound, mismatch.call.path, whole_sizes(evaluation)))
    if bindings:
        details.append(f"with {bindings}")
    if evaluation.mode == "sized" and evaluation.sizes:
        details.append(_sizes_text(evaluation))
    if evaluation.refused:
        details.append(f"as documented it is refused: {evaluation.reason}")
    else:
        details += _describe_switches(evaluation)
    where = [f"in stage {mismatch.call.stage}"] if mismatch.call.stage else []
    caller: Frame | None = mismatch.call.caller
    if caller is not None and evaluation.origin == SNIPPET and caller.function == "<module>":
        where.append(f"called in {caller.path}, line {caller.line}")
    elif caller is not None:
        how = "overridden by" if module.scopes[mismatch.call.scope].declares else "called from"
        where.append(f"{how} {caller.function} ({caller.path}:{caller.line})")
    elif evaluation.origin == "example":
        where.append(f"in example {evaluation.target} ({evaluation.path}:{evaluation.line})")
    elif evaluation.origin in ("config", "script"):
        where.append(f"in {evaluation.target} ({evaluation.path})")
    if where:
        details.append(", ".join(where))
    if caller is not None and caller.path == module.path and mismatch.reason in ("rank", "dim"):
        details += _said_otherwise(module, mismatch, caller.function)
    return details


def _said_otherwise(module: Module, mismatch: Mismatch, caller: str) -> list[str]:
    """What the texts of a caller say otherwise of parameters that it has in common with what it calls.

    Where it hands them on, one of the two is wrong: perhaps not the claim that fails, but what binds its names.
    """
    inside, outside = _said_of_parameters(module, mismatch.call.scope), dict[str, Claim]()
    bound = {each.name for each in mismatch.bound}
    for index, each in enumerate(module.scopes):
        outside.update(_said_of_parameters(module, index) if each.qualname == caller else {})
    pairs = ((outside[name], inside[name], name) for name in inside if name in outside)
    differing = [
        f"{caller} (line {one.span.line}) says {one.text} of {name}, and line {other.span.line} says {other.text}"
        for one, other, name in pairs
        if parse_spec(one.spec).dims != parse_spec(other.spec).dims
        and bound.intersection(parse_spec(other.spec).names())
    ]
    return differing[:_MOST_SAID]


def _said_of_parameters(module: Module, scope: int) -> dict[str, Claim]:
    """The one claim of each parameter of a function that has one alone, and a fixed number of axes in it."""
    found: dict[str, list[Claim]] = {}
    for claim in module.claims:
        site = module.site_of(claim)
        if site is not None and site.kind == "param" and site.scope == scope and not claim.select:
            found.setdefault(site.name, []).append(claim)
    single = {name: claims[0] for name, claims in found.items() if len(claims) == 1}
    return {name: claim for name, claim in single.items() if parse_spec(claim.spec).rank() is not None}


def _describe_switches(evaluation: Evaluation) -> list[str]:
    """The switches that were set to let the code take another path than usual."""
    found = [each for each in evaluation.assumptions if (each.kind, each.provenance) == ("value", "written")]
    return [f"with {each.equation}" if each.value else f"on {each.subject}" for each in found]


def _sizes_text(evaluation: Evaluation) -> str:
    return "evaluated for " + ", ".join(f"{name}={size}" for name, size in evaluation.sizes)


def _integers_text(evaluation: Evaluation, failure: Failure) -> str:
    """The integers of the model and the call that stand in a failure, and are no size of a dim: `where pad = 5`.

    Where none of them does, what stands there may follow from any.
    """
    met = {*_NUMBER.findall(failure.message), *(each for _, text in failure.arrays for each in _NUMBER.findall(text))}
    sizes = {size for _, size in evaluation.sizes}
    names: dict[str, tuple[str, str]] = {}  # an attribute may hold what the constructor takes, by almost that name
    for name, size in evaluation.integers:
        if size not in sizes:
            names.setdefault(name.rpartition(".")[2].strip("_"), (name, size))
    is_met = any(size in met for _, size in evaluation.integers)
    every = [f"{name} = {size}" for name, size in names.values() if size in met or not is_met]
    return f"where {', '.join(every[:_MOST_INTEGERS])}" if every else ""


def _bindings(bound: Sequence[BoundSize], path: str, shown: Callable[[str], str]) -> list[str]:
    """`batch, seq from q: Float[Array, "batch seq d"] (attn.py:33)`, `heads=4 (self.heads)`."""
    by_source: dict[tuple[str, int | None], list[str]] = {}
    for b in bound:
        source = b.source if b.source != b.name else "an integer of that name"
        size = shown(b.size)
        is_symbol = size == b.name or _NAMELESS.fullmatch(size) is not None
        by_source.setdefault((source, b.line), []).append(b.name if is_symbol else f"{b.name}={size}")
    return [
        f"{', '.join(names)} from {source} ({path}:{line})" if line is not None else f"{', '.join(names)} ({source})"
        for (source, line), names in by_source.items()
    ]
