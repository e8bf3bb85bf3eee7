"""SC4xx: what evaluation shows of calls for debugging."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from shapecheck.model import ArrayValue, DebugCall, Edit, Evaluation, Failure, Finding, Module, Observation, Span
from shapecheck.rules import RULES
from shapecheck.verdicts.messages import line_span

_ORDER = re.compile(r"ordered (?:IO callback|effects)", re.IGNORECASE)
_CALLBACK = "jax.debug.callback"
_KEPT_IN_CODE = ("jax.debug.print", "jax.debug.breakpoint")
_REMEDY = "jax.debug.print shows the values, each time that the line runs: "

ValuesBySite = Mapping[tuple[str, int], Sequence[Observation]]


def debug_findings(modules: Mapping[str, Module], runs: Sequence[Sequence[Evaluation]]) -> Iterator[Finding]:
    """The findings of all calls for debugging; those of SC402 too, which few want to see."""
    seen = _shown_values(modules, runs)
    for module in modules.values():
        for call in module.debug_calls:
            yield from _of_call(module, call, seen)
    reported: set[tuple[str, int]] = set()
    for failure in (evaluation.failure for run in runs for evaluation in run):
        if failure is None or failure.frame is None or not is_about_order(failure):
            continue
        path, line = failure.frame.path, failure.frame.line
        if path in modules and (path, line) not in reported:
            reported.add((path, line))
            yield _make_finding("SC404", path, line_span(modules[path].lines, line), reason=failure.message)


def is_about_order(failure: Failure) -> bool:
    """Whether JAX says that it cannot keep an order: what SC404 reports."""
    return failure.kind != "shape" and _ORDER.search(failure.message) is not None


def is_unfit_print(module: Module, line: int) -> bool:
    """Whether a print stands on this line whose format and arguments do not go together: what SC405 reports."""
    return any(call.unfit and call.span.line <= line <= call.span.end_line for call in module.debug_calls)


def _shown_values(modules: Mapping[str, Module], runs: Sequence[Sequence[Evaluation]]) -> ValuesBySite:
    """What was seen at the sites of all calls."""
    sites = {
        (path, site)
        for path, m in modules.items()
        for call in m.debug_calls
        for site, _ in (*call.shown, *call.captured)
    }
    paths = {path for path, _ in sites}
    seen: defaultdict[tuple[str, int], list[Observation]] = defaultdict(list)
    if not sites:
        return seen
    for call in (call for run in runs for evaluation in run for call in evaluation.calls):
        if call.path in paths:
            for observation in call.observations:
                if (call.path, observation.site) in sites:
                    seen[call.path, observation.site].append(observation)
    return seen


def _of_call(module: Module, call: DebugCall, seen: ValuesBySite) -> Iterator[Finding]:
    path = module.path
    if call.unfit:
        yield _make_finding("SC405", path, call.span, reason=call.unfit)
    yield from _of_captured(module, call, seen)
    if call.function in _KEPT_IN_CODE:
        yield _make_finding("SC402", path, call.span, function=call.function)
    traced = [(text, o.traced) for site, text in call.shown for o in seen.get((path, site), ()) if o.traced]
    if not traced:
        return
    text, transformation = traced[0]
    if call.function == "print":
        yield _make_finding(
            "SC403", path, call.span, _REMEDY + _example(text), text=text, transformation=transformation
        )
        return
    is_callback = call.function == _CALLBACK
    fix = _fix(module, call, seen)
    yield _make_finding(
        "SC401",
        path,
        call.span,
        f"give the function the array itself: {_CALLBACK}(..., {text})" if is_callback else f"write {_example(text)}",
        fix,
        text=text,
        transformation=transformation,
        function=call.function,
    )


def _of_captured(module: Module, call: DebugCall, seen: ValuesBySite) -> Iterator[Finding]:
    """The first traced array that a callback has without being given it."""
    for site, text in call.captured:
        found = seen.get((module.path, site), ())
        # Of a container the callback may want what is no array.
        traced = next((each.traced for each in found if each.traced and isinstance(each.value, ArrayValue)), "")
        if traced:
            remedy = f"give it to the function as an argument, which {call.function} is called with, too"
            yield _make_finding(
                "SC406", module.path, call.span, remedy, text=text, function=call.function, transformation=traced
            )
            return


def _example(text: str) -> str:
    named = f'"{{{text}}}", {text}={text}' if text.isidentifier() else f'"{{}}", {text}'
    return f"jax.debug.print({named})"


def _make_finding(
    code: str, path: str, span: Span, detail: str = "", fix: tuple[Edit, ...] = (), **gaps: str
) -> Finding:
    rule = RULES[code]
    details = (detail,) if detail else ()
    return Finding(
        code=code,
        severity=rule.severity,
        path=path,
        span=span,
        message=rule.message.format(**gaps),
        details=details,
        fix=fix,
    )


def _fix(module: Module, call: DebugCall, seen: ValuesBySite) -> tuple[Edit, ...]:
    """The f-string with its traced fields as arguments, where each can be one in all calls that were seen."""
    if call.function != "jax.debug.print":
        return ()
    from shapecheck.syntax.format_strings import read_format_string  # noqa: PLC0415  # it loads libcst

    string = read_format_string(call, module.lines)
    if string is None:
        return _fix_of_format(module, call, seen)
    moved = set()
    for part, (site, _) in enumerate(call.shown):
        found = seen.get((module.path, site), ())
        if any(o.traced for o in found):
            if not all(_can_be_late(o, bool(string.fields[part].format_spec)) for o in found):
                return ()
            moved.add(part)
    return (string.with_arguments(moved),)


def _fix_of_format(module: Module, call: DebugCall, seen: ValuesBySite) -> tuple[Edit, ...]:
    """`"...".format(x)` and `"..." % x` with what they format as arguments, where JAX traces all of it."""
    from shapecheck.syntax.format_strings import read_format_call  # noqa: PLC0415  # it loads libcst

    found = read_format_call(call, module.lines)
    values = [seen.get((module.path, site), ()) for site, _ in call.shown]
    if found is None or not all(any(o.traced for o in each) for each in values):
        return ()
    late = all(_can_be_late(o, found.has_formats) for each in values for o in each)
    return (found.edit,) if late else ()


def _can_be_late(observation: Observation, has_format: bool) -> bool:
    """Whether JAX formats such a value as Python does: an array, and one of no axes if there is a format."""
    value = observation.value
    return isinstance(value, ArrayValue) and not value.dtype.startswith("key<") and not (has_format and value.shape)
