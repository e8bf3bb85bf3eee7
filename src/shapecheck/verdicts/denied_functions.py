"""Functions of which nothing that their comments and docstrings say holds.

One shape of several that is false is a mistake. Where all of them are, and not one holds, the words mostly mean
something else than they were read as (`spatial` for as many axes as there are, the shape of one item of a batch), or
the function is called otherwise than whoever wrote them had in mind. Of such clusters in public packages, each read by
hand, about one in four was stale text. So they are told as one note, and each of them only to who asks for all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from shapecheck.model import Finding, FunctionKey, Module
from shapecheck.rules import RULES
from shapecheck.verdicts.evaluation_results import ClaimKey
from shapecheck.verdicts.judge import Verdicts
from shapecheck.verdicts.messages import mismatch_finding

_LEAST = 3  # lines: of one or two nothing can be said
_NOTATIONS = ("comment", "docstring")


def denied_functions(
    modules: Mapping[str, Module], verdicts: Verdicts, sure: Collection[ClaimKey]
) -> Mapping[FunctionKey, tuple[ClaimKey, ...]]:
    """The claims of such functions that would be reported, by function and in order."""
    found: dict[FunctionKey, list[ClaimKey]] = defaultdict(list)
    holding: set[FunctionKey] = set()
    for path, module in modules.items():
        for index, claim in enumerate(module.claims):
            key, function = (path, index), (path, claim.scope)
            if claim.notation not in _NOTATIONS or module.scopes[claim.scope].kind != "function":
                continue
            if key in verdicts.good:
                holding.add(function)
            elif key in sure and key in verdicts.bad and verdicts.bad[key].mismatch.reason in ("rank", "dim"):
                found[function].append(key)

    def line_of(key: ClaimKey) -> int:
        return modules[key[0]].claims[key[1]].span.line

    return {
        function: tuple(sorted(keys, key=line_of))
        for function, keys in found.items()
        if function not in holding and len(set(map(line_of, keys))) >= _LEAST
    }


def denied_notes(
    modules: Mapping[str, Module], verdicts: Verdicts, denied: Mapping[FunctionKey, tuple[ClaimKey, ...]]
) -> Iterator[Finding]:
    """One note for each of these functions, at the first of its claims."""
    rule = RULES["SC306"]
    for (path, scope), keys in denied.items():
        module = modules[path]
        claim = module.claims[keys[0][1]]
        first = mismatch_finding(module, claim, verdicts.bad[keys[0]])
        message = rule.message.format(count=len(keys), function=module.scopes[scope].qualname, first=first.message)
        yield Finding(
            code=rule.code,
            severity=rule.severity,
            path=path,
            span=claim.span,
            message=message,
            claimed=first.claimed,
            observed=first.observed,
            details=first.details,
        )
