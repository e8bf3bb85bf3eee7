"""Why a claim was not reached, and what the user can do about it: the example to paste, where nothing was verified."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from shapecheck.model import SNIPPET, Claim, Evaluation, FunctionKey, Module
from shapecheck.verdicts.evaluation_results import HALF_WAY
from shapecheck.verdicts.judge import Verdicts

_UNKNOWN = "..."
_KEY = "jax.random.key(0)"
_KEY_NAMES = ("key", "rng", "prng_key", "rngs")
_VALUES = {"float": "0.5", "bool": "False", "str": '"..."', "complex": "1j", "bytes": 'b"..."', "PRNGKeyArray": _KEY}
_SIZES = ("48", "80", "112", "144", "176")  # which nobody takes for one another
_Definition = ast.FunctionDef | ast.AsyncFunctionDef


class _Argument(NamedTuple):
    """An argument of a call; by place if it has no name."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}" if self.name else self.value


def example_text(module: Module, index: int) -> str:
    """An example of the function or class that the scope `index` stands in; "" where that is none, or unreadable."""
    try:
        body: Sequence[ast.stmt] = ast.parse("\n".join(module.lines)).body
    except (SyntaxError, ValueError, RecursionError):
        return ""
    names = module.scopes[index].qualname.split(".")
    first = _find(body, names[0])
    if isinstance(first, _Definition):
        return _text(module, f"{first.name}_example", first.name, _arguments(module, first, first.name), body)
    if not isinstance(first, ast.ClassDef):
        return ""
    method = _find(first.body, names[1]) if len(names) > 1 else None
    if not isinstance(method, _Definition) or method.name == "__init__":
        method = _find(first.body, "__call__")
    call = f"{first.name}({', '.join(map(str, _construction(module, first)))})"
    given: list[_Argument] = []
    if isinstance(method, _Definition):
        call += "" if method.name == "__call__" else f".{method.name}"
        given = _arguments(module, method, f"{first.name}.{method.name}", skip=1)
    return _text(module, f"{_snake(first.name)}_example", call, given, body)


def _text(module: Module, name: str, call: str, arguments: Sequence[_Argument], body: Sequence[ast.stmt]) -> str:
    named = [str(each) for each in arguments if each.name]
    callee = f"functools.partial({', '.join([call, *named])})" if named else call
    value = ", ".join([callee, *(each.value for each in arguments if not each.name)])
    known = {alias.asname or alias.name for node in body for alias in _imported_names(node)}
    imports = [f"import {each}" for each in ("functools", "jax") if f"{each}." in value and each not in known]
    wanted = [each for each in ("Array", "Float") if re.search(rf"\b{each}\b", value) and each not in known]
    imports += [f"from jaxtyping import {', '.join(wanted)}"] if wanted else []
    note = "put your own values in place of the dots" if _UNKNOWN in value else "the callable, then its arguments"
    lines = [
        f"# in {module.path}: {note}",
        *imports,
        "from shapecheck import example",
        "",
        "@example",
        f"def {name}():",
    ]
    return "\n".join([*lines, f"    return {value}{',' * (value == callee)}", ""])


def _imported_names(node: ast.stmt) -> Sequence[ast.alias]:
    return node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ()


def _find(body: Sequence[ast.stmt], name: str) -> ast.stmt | None:
    """The definition of this name in a body, or in its branches."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name == name:
                return node
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            found = _find([each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)], name)
            if found is not None:
                return found
    return None


def _construction(module: Module, cls: ast.ClassDef) -> list[_Argument]:
    """What the constructor of a class wants, by name."""
    init = _find(cls.body, "__init__")
    if isinstance(init, _Definition):
        return _arguments(module, init, f"{cls.name}.__init__", skip=1, named=True)
    sizes = iter(_SIZES)
    fields = [node for node in cls.body if isinstance(node, ast.AnnAssign) and node.value is None]
    named = [(node.target.id, node.annotation) for node in fields if isinstance(node.target, ast.Name)]
    return [_Argument(name, _value(annotation, "", sizes)) for name, annotation in named]


def _arguments(
    module: Module, function: _Definition, qualname: str, *, skip: int = 0, named: bool = False
) -> list[_Argument]:
    """The arguments that a function cannot do without, the first `skip` ones left out."""
    shapes, sizes = _claimed_shapes(module, qualname), iter(_SIZES)
    parameters = function.args
    is_static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in function.decorator_list)
    by_place = [*parameters.posonlyargs, *parameters.args]
    by_place = by_place[: len(by_place) - len(parameters.defaults)][0 if is_static else skip :]
    given = [(each, named) for each in by_place]
    given += [
        (each, True)
        for each, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
        if default is None
    ]
    values: list[_Argument] = []
    for each, by_name in given:
        value = _KEY if each.arg in _KEY_NAMES else _value(each.annotation, shapes.get(each.arg, ""), sizes)
        values.append(_Argument(each.arg if by_name else "", value))
    return values


def _claimed_shapes(module: Module, qualname: str) -> Mapping[str, str]:
    """The shapes that comments and docstrings give the parameters of a function."""
    found: dict[str, str] = {}
    for claim in module.claims:
        for site in (module.sites[number] for number in claim.sites[:1]):
            is_own = site.kind == "param" and module.scopes[site.scope].qualname == qualname
            if is_own and claim.notation != "annotation" and not claim.select:
                found.setdefault(site.name, claim.spec)
    return found


def _value(annotation: ast.expr | None, shape: str, sizes: Iterator[str]) -> str:
    """A value for a parameter, as its annotation and its claimed shape have it; dots where they say too little."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            annotation = None
    if annotation is not None and _is_array_type(annotation):
        return ast.unparse(annotation).replace("'", '"')
    text = ast.unparse(annotation) if annotation is not None else ""
    if shape and text.rpartition(".")[2] in ("", "Array", "ndarray", "ArrayLike"):
        return f'Float[Array, "{shape}"]'
    if text == "int":
        return next(sizes, "48")
    if "None" in text or text.startswith("Optional"):
        return "None"
    return _VALUES.get(text.rpartition(".")[2], _UNKNOWN)


def _is_array_type(annotation: ast.expr) -> bool:
    """Whether it is `Float[Array, "b d"]`: an array's type and its shape."""
    parts = (
        annotation.slice.elts
        if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple)
        else []
    )
    return len(parts) == 2 and isinstance(parts[1], ast.Constant) and isinstance(parts[1].value, str)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


_AS_PROGRAM = re.compile(r"if\s+__name__\s*==\s*['\"]__main__['\"]\s*:")
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
            if _runs_as_program(module.lines, claim.span.line):
                return 'the block under `if __name__ == "__main__":` did not come to this line'
            return "the module's body did not come to this line"
        if (claim.path, scope) in self.stops:
            return f"{name} stopped before this line: {self.stops[(claim.path, scope)]}"
        if (claim.path, scope) in self.entered:
            if claim.sites and (kind := module.sites[claim.sites[0]].kind) in _NEVER:
                return _NEVER[kind]
            if module.scopes[scope].kind == "class":
                return f"the field of {name} is not set when its construction ends"
            return f"{name} was evaluated, but not along this line"
        return self._never_entered(module, scope)

    def _note(self, evaluation: Evaluation) -> None:
        self.entered.update((c.path, c.scope) for c in evaluation.calls)
        if evaluation.origin == SNIPPET:  # what stopped it, on a line of its own, stopped no function
            return
        if evaluation.status == "ok":
            self.called.add((evaluation.path, evaluation.target.partition(":")[2]))
        elif evaluation.status == "failed":
            name = evaluation.target.partition(":")[2]
            self.failed.setdefault((evaluation.path, name), evaluation.reason)
        elif evaluation.status == "stopped":
            name = evaluation.target.partition(":")[2]
            self.failed.setdefault((evaluation.path, name), evaluation.reason)
            is_error = evaluation.failure is not None and evaluation.failure.kind == "shape"
            for key in ((call.path, call.scope) for call in evaluation.calls):
                if is_error or key not in self.stops:
                    self.stops[key] = evaluation.reason

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


def _runs_as_program(lines: Sequence[str], number: int) -> bool:
    """Whether a line of a module stands in the block that runs where the file is a program."""
    above = (line for line in reversed(lines[:number]) if line.strip() and not line[0].isspace() and line[0] != "#")
    return _AS_PROGRAM.match(next(above, "")) is not None


def remedy(modules: Mapping[str, Module], troubles: Mapping[str, str], python: str = "") -> str:
    """What to do if nothing was verified: make the modules importable, else an example to paste; "" if none fits."""
    imported = [module for module in modules.values() if module.path not in troubles]
    if not any(module.claims for module in imported):
        return f"First make the import work, under {python} or another interpreter (--python)." if python else ""
    claimed = ((module, claim.scope) for module in imported for claim in module.claims)
    return next(filter(None, (example_text(module, scope) for module, scope in claimed)), "")
