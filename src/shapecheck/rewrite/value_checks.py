"""What looks at values while the program runs: are they finite, stop where they are not, print them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from shapecheck.rewrite.claim_targets import ClaimTarget
from shapecheck.rewrite.insertion import LINE, Insertion, NoPlaceError
from shapecheck.rewrite.rewrite_plan import FilePlan, RewriteOptions, RewriteOutcome, SkippedClaim
from shapecheck.syntax.intended_nonfinite import INFINITY, NAN, intended_nonfinite
from shapecheck.syntax.scopes import Function, PlacedStatement, target_names, targets

PRINT, BREAK, FINITE = 1, 2, 3
_UNFIT = {
    frozenset(): "~{jnp}.isfinite({name})",
    frozenset([INFINITY]): "{jnp}.isnan({name})",
    frozenset([NAN]): "{jnp}.isinf({name})",
}
_NEVER_INEXACT = ("Int", "UInt", "Bool", "Key")
_OWN_PARAMETERS = frozenset(["fmt", "ordered", "partitioned", "skip_format_check"])  # of jax.debug.print


class ValueChecks:
    """Writes checks and prints of values in one file, called `name` in what they say."""

    def __init__(self, file: FilePlan, name: str, outcome: RewriteOutcome) -> None:
        self.file = file
        self.name = json.dumps(name)[1:-1]  # for a string literal in any encoding
        self.outcome = outcome

    def run(self, options: RewriteOptions) -> None:
        """All that the options ask for."""
        if options.prints:
            for placed in self.file.tables.statements:
                self._print(placed, options.prints)
        if not (options.numerics or options.breakpoint):
            return
        checked: set[tuple[int, str]] = set()
        for claim in self.file.module.claims:
            if not claim.sure or claim.dtype.startswith(_NEVER_INEXACT):
                continue
            try:
                target = self.file.targets.of(claim)
            except NoPlaceError:
                continue
            for name in _variables(target):
                if (id(target.statement), name) not in checked:
                    checked.add((id(target.statement), name))
                    self._watch(target, name, options)

    def _watch(self, target: ClaimTarget, name: str, options: RewriteOptions) -> None:
        passing = intended_nonfinite(getattr(target.statement, "value", None)) | (
            {INFINITY} if options.nan_only else set()
        )
        if passing >= {INFINITY, NAN}:
            return
        jnp, eqx = self.file.needs.module("jnp"), self.file.needs.module("eqx")
        about = target.statement.lineno
        unfit = _UNFIT[frozenset(passing)].format(jnp=jnp, name=name)
        if options.breakpoint:
            jax, eqxi = self.file.needs.module("jax"), self.file.needs.module("eqxi")
            found = f"{eqxi}.unvmap_any({unfit})"  # else vmap runs both branches
            stop = f"{jax}.lax.cond({found}, lambda: {jax}.debug.breakpoint(), lambda: None)"
            text = f"{stop} if {eqx}.is_inexact_array({name}) else None"
            self.outcome.insertions.append(Insertion(target.spot, text, BREAK, about))
        if options.numerics:
            said = f'"{self.name}:{LINE} {self._where(target)}{name} is not finite"'
            check = f"{eqx}.error_if({name}, {unfit}, {said})"
            text = f"{name} = {check} if {eqx}.is_inexact_array({name}) else {name}"
            self.outcome.insertions.append(Insertion(target.spot, text, FINITE, about))
        self.outcome.values += 1

    def _where(self, target: ClaimTarget) -> str:
        return f"{target.function.name}: " if isinstance(target.function, Function) else ""

    def _print(self, placed: PlacedStatement, patterns: Sequence[str]) -> None:
        """Print the variables that a statement assigns, where a pattern fits them."""
        node = placed.node
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) or node.value is None:
            return
        if self.file.tables.scopes[placed.scope].kind == "class":
            return
        for name in dict.fromkeys(n for target in targets(node) for n in target_names(target)):
            paths = list(self._paths(placed, name))
            if not name.isidentifier() or not any(fnmatchcase(path, p) for p in patterns for path in paths):
                continue
            try:
                spot = self.file.spots.behind(node)
            except NoPlaceError as error:
                self.outcome.left.append(SkippedClaim(node.lineno, "value", str(error)))
                continue
            self.outcome.insertions.append(Insertion(spot, self._print_call(paths[-1], name), PRINT, node.lineno))
            self.outcome.values += 1

    def _print_call(self, path: str, name: str) -> str:
        key = "value" if name in _OWN_PARAMETERS else name
        shown = self.name.replace("{", "{{").replace("}", "}}")
        return f'{self.file.needs.module("jax")}.debug.print("{shown}:{LINE} {path} = {{{key}}}", {key}={name})'

    def _paths(self, placed: PlacedStatement, name: str) -> Iterator[str]:
        """What a pattern may call a variable: `x`, `forward.x`, `Model.forward.x`."""
        scope = self.file.tables.scopes[placed.scope]
        parts = scope.qualname.split(".") if scope.kind == "function" else []
        for start in range(len(parts), -1, -1):
            yield ".".join([*parts[start:], name])


def _variables(target: ClaimTarget) -> list[str]:
    """The plain variables that a statement gives the claimed value to."""
    if not target.assigned or isinstance(target.function, ast.ClassDef):
        return []
    names = [target.name]
    if not target.name and isinstance(target.statement, ast.Assign):
        names = list(target_names(target.statement.targets[-1]))
    return [name for name in names if name.isidentifier()]
