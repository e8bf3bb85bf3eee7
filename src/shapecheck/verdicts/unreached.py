"""Why a claim was not reached, and what the user can do about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from shapecheck.model import Claim, Evaluation, FunctionKey, Module
from shapecheck.verdicts.evaluation_results import HALF_WAY
from shapecheck.verdicts.example_text import example_text
from shapecheck.verdicts.judge import Verdicts

LEFT = "left to another shard"
"""Why a shard did not reach what none of its own tests, models and functions calls."""
_NEVER = {
    "called": "no call of it was seen, by position: of what is a pytree as well, such as a layer, none can be",
    "yielded": "no item of it was seen: nothing that was evaluated asks for one, or it has an iterator of its own",
}


class Reasons:
    """Finds the reason for each unreached claim. `troubles` maps a path to why its module could not be imported.

    Where the run is `shared` with other shards, what nothing here calls is left to these.
    """

    def __init__(
        self,
        modules: Mapping[str, Module],
        runs: Iterable[Sequence[Evaluation]],
        troubles: Mapping[str, str],
        verdicts: Verdicts,
        *,
        shared: bool = False,
    ) -> None:
        self.shared = shared
        self.modules, self.troubles, self.verdicts = modules, troubles, verdicts
        self.entered: set[FunctionKey] = set()
        self.failed: dict[tuple[str, str], str] = {}
        self.called: set[tuple[str, str]] = set()
        self.stops: dict[FunctionKey, str] = {}
        for run in runs:
            for evaluation in run:
                self._note(evaluation)

    def of(self, claim: Claim, index: int) -> str:
        """One sentence, without a full stop."""
        if claim.path in self.troubles:
            return self.troubles[claim.path]
        if claim.unread:
            return claim.unread
        if "?" in claim.select:
            return "the annotated value is a function, iterator or other object that evaluation cannot look into"
        unknown = self.verdicts.unknown.get((claim.path, index))
        module = self.modules[claim.path]
        scope = module.sites[claim.sites[0]].scope if claim.sites else claim.scope
        name = module.scopes[scope].qualname
        if unknown == HALF_WAY and (claim.path, scope) in self.stops:
            return f"{name} did not come to its end: {self.stops[(claim.path, scope)]}"
        if unknown:
            return unknown
        if module.scopes[scope].kind == "module":
            return "the module's body did not come to this line"
        if (claim.path, scope) in self.stops:
            return f"{name} stopped before this line: {self.stops[(claim.path, scope)]}"
        if (claim.path, scope) in self.entered:
            if module.scopes[scope].kind == "class":
                return f"the field of {name} is not set when its construction ends"
            if claim.sites and (kind := module.sites[claim.sites[0]].kind) in _NEVER:
                return _NEVER[kind]
            return f"{name} was evaluated, but not along this line"
        return self._never_entered(module, scope)

    def _note(self, evaluation: Evaluation) -> None:
        self.entered.update((c.path, c.scope) for c in evaluation.calls)
        if evaluation.status == "ok":
            self.called.add((evaluation.path, evaluation.target.partition(":")[2]))
        elif evaluation.status == "failed":
            name = evaluation.target.partition(":")[2]
            self.failed.setdefault((evaluation.path, name), evaluation.reason)
        elif evaluation.status == "stopped":
            name = evaluation.target.partition(":")[2]
            self.failed.setdefault((evaluation.path, name), evaluation.reason)
            for call in evaluation.calls:
                self.stops.setdefault((call.path, call.scope), evaluation.reason)

    def _never_entered(self, module: Module, scope: int) -> str:
        current: int | None = scope
        while current is not None and module.scopes[current].kind != "module":
            found = self.failed.get((module.path, module.scopes[current].qualname))
            if found is not None:
                return found
            current = module.scopes[current].parent
        owner = module.scopes[scope].qualname.rpartition(".")[0]
        for (path, name), reason in self.failed.items():
            if path == module.path and owner and name.startswith(f"{owner}."):
                return reason
        if (module.path, module.scopes[scope].qualname) in self.called:
            name = module.scopes[scope].qualname
            return f"{name} was called, but not its body: is it a generator, a coroutine, or replaced by a decorator?"
        if self.shared:
            return LEFT
        return f"nothing that was evaluated calls {module.scopes[scope].qualname}"


def remedy(modules: Mapping[str, Module], troubles: Mapping[str, str], python: str = "") -> str:
    """What to do if nothing was verified: make the modules importable, else an example to paste; "" if none fits."""
    imported = [module for module in modules.values() if module.path not in troubles]
    if not any(module.claims for module in imported):
        return f"First make the import work, under {python} or another interpreter (--python)." if python else ""
    claimed = ((module, claim.scope) for module in imported for claim in module.claims)
    return next(filter(None, (example_text(module, scope) for module, scope in claimed)), "")
