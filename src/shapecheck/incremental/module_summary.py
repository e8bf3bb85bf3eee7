"""What a file looks like to others: the names that it binds, each with what it is made from, and its other acts."""

from __future__ import annotations

import ast
import functools
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shapecheck.incremental.content_hash import content, may_yield, outline
from shapecheck.incremental.kept_state import KeptState, kept_state
from shapecheck.incremental.name_references import Chain, Import, References, imports, references
from shapecheck.incremental.side_effects import SideEffects, target_names
from shapecheck.syntax.scopes import name_chain, targets

_KNOWN = 512  # files
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TRY = (ast.Try, ast.TryStar)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True, kw_only=True)
class ModuleStep:
    """A statement of a module's body: it binds `names`, or acts. `text` is a hash of it without functions' bodies.

    `imports` are what running it imports. A class has `bases` of the project, and is `tame` if being its base does
    nothing to a class. `timed` are those which look at other values of the project when they run.
    """

    names: tuple[str, ...]
    text: str
    refers: References = field(default_factory=References)
    imports: tuple[Import, ...] = ()
    bases: tuple[Chain, ...] = ()
    acts: bool = False
    tame: bool = False
    timed: bool = False
    adds: bool = False  # to what was bound before
    certain: bool = False  # cannot fail


@dataclass(frozen=True)
class ModuleSummary:
    """A file: its steps in order, what its names are imported from, and all that it refers to, in functions too.

    `mentions` are the names in each function and class, `state` is what calls may leave in it for others.
    """

    steps: tuple[ModuleStep, ...]
    imports: Mapping[str, tuple[Import, ...]] = field(default_factory=dict)
    refers: References = field(default_factory=References)
    mentions: tuple[frozenset[str], ...] = ()
    state: KeptState = field(default_factory=lambda: KeptState(hidden=True))

    @property
    def stars(self) -> tuple[Import, ...]:
        """The modules that all names are taken from."""
        return self.imports.get("*", ())

    @property
    def outline(self) -> str:
        """A hash of all that running the module depends on, unless it calls its functions."""
        return content("\n".join(step.text for step in self.steps).encode())


@functools.lru_cache(_KNOWN)  # an editor asks again after each edit, of all files
def surface(source: bytes, project: frozenset[str] = frozenset(), *, tests: bool = False) -> ModuleSummary:
    """Read a file. `project` are the first names of modules that may be the project's own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in other people's strings
            tree = ast.parse(source)
        return _surface(tree, project, tests=tests, generators=may_yield(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ModuleSummary((ModuleStep(names=(), text=content(source), acts=True),))


def _surface(tree: ast.Module, project: frozenset[str], *, tests: bool, generators: bool) -> ModuleSummary:
    table = _imports(tree)
    named = [name for statement in tree.body for name in _bound_by_statement(statement)]
    defined = frozenset(named) - _imported_names(tree)
    reader = _SummaryReader(SideEffects(table, defined, project, tests), table, defined, generators)
    steps = [step for statement in tree.body for step in reader.steps(statement)]
    if ast.get_docstring(tree, clean=False) is not None:
        steps.insert(0, ModuleStep(names=("__doc__",), text=outline(tree.body[0], False)))
    whole = References()
    mentions: list[frozenset[str]] = []
    for statement in tree.body:
        found = references([statement], bodies=True)
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            found.late.clear()
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            mentions.append(frozenset(name for chain in found.chains for name in chain))
        whole.add(found)
    return ModuleSummary(tuple(_in_order(steps)), table, _with_modules(whole, table), tuple(mentions), kept_state(tree))


class _SummaryReader:
    """Takes the statements of one module's body apart."""

    def __init__(
        self, effects: SideEffects, table: Mapping[str, tuple[Import, ...]], defined: frozenset[str], generators: bool
    ) -> None:
        self.effects, self.table, self.defined, self.generators = effects, table, defined, generators
        self.flags = ""

    def steps(self, node: ast.stmt) -> Iterator[ModuleStep]:
        """The steps that a statement of the body is worth."""
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            self.flags += ",".join(sorted(alias.name for alias in node.names))  # what all that follows means
            return
        if _is_for_scripts(node):
            return
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from self._import(node)
            return
        text = self.flags + outline(node, self.generators)
        refers = _with_modules(references([node], bodies=False), self.table)
        run = () if _is_for_typing(node) else tuple(target for _, target in _imports_when_run(node))
        if not (self.effects.innocent(node) or _is_for_typing(node)):
            yield ModuleStep(names=(), text=text, refers=refers, imports=run, acts=True)
            return
        names = tuple(dict.fromkeys(_bound_by_statement(node)))
        ruled = self.effects.function_given_rule(node)
        if ruled is not None:
            yield ModuleStep(names=(ruled,), text=text, refers=refers, adds=True)
        classes = [inner for inner in ast.walk(node) if isinstance(inner, ast.ClassDef)]
        bases = {self.effects.known_base(base) or () for inner in classes for base in inner.bases}
        if names:
            tame = isinstance(node, ast.ClassDef) and _is_tame(node)
            sure = self.effects.certain(node, texts="annotations" in self.flags)
            bases.discard(())
            timed = self._is_timed(refers)
            yield ModuleStep(
                names=names,
                text=text,
                refers=refers,
                imports=run,
                bases=tuple(sorted(bases)),
                tame=tame,
                timed=timed,
                certain=sure,
            )

    def _import(self, node: ast.Import | ast.ImportFrom) -> Iterator[ModuleStep]:
        run, sure = dict(_run_by(node)), self.effects.certain(node, texts=True)
        for name, target in imports(node):
            ran = tuple(run[target])
            text = content(f"{self.flags} {name} {target} {ran}".encode())
            yield ModuleStep(names=(name,), text=text, refers=References(), imports=ran, certain=sure)

    def _is_timed(self, refers: References) -> bool:
        """Whether values of the project may enter."""
        return "*" in self.table or any(
            chain[0] in self.defined or (chain[0] in self.table and not self.effects.external(chain))
            for chain in refers.chains
        )


def _in_order(steps: Sequence[ModuleStep]) -> Iterator[ModuleStep]:
    """Names that are bound more than once depend on what stands between."""
    counts = Counter(name for step in steps if not step.adds for name in step.names)
    whole = content("\n".join(step.text for step in steps).encode())
    for step in steps:
        repeated = any(counts[name] > 1 for name in step.names)
        yield replace(step, text=f"{step.text} {whole}") if repeated else step


def _imports(tree: ast.Module) -> dict[str, tuple[Import, ...]]:
    """What names stand for modules, or parts of them, anywhere in a file."""
    found: dict[str, dict[Import, None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name, target in imports(node):
                found.setdefault(name, {})[target] = None
    return {name: tuple(targets) for name, targets in found.items()}


def _imported_names(tree: ast.Module) -> set[str]:
    """The names that imports in the module's body bind, and nothing else does."""
    counts = Counter(name for statement in tree.body for name in _bound_by_statement(statement))
    statements = [s for s in tree.body if isinstance(s, (ast.Import, ast.ImportFrom))]
    own = Counter(name for statement in statements for name, _ in imports(statement))
    return {name for name, count in own.items() if counts[name] == count}


def _with_modules(refers: References, table: Mapping[str, tuple[Import, ...]]) -> References:
    """`sys.modules` under other names is as blind."""
    for chain in refers.chains:
        for target in table.get(chain[0], ()):
            full = (*target.module, target.name) if target.name else target.module
            refers.blind |= (*full, *chain[1:])[:2] == ("sys", "modules")
    return refers


def _bound_by_statement(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module's body binds."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (name for name, _ in imports(node))
    elif sys.version_info >= (3, 12) and isinstance(node, ast.TypeAlias):
        yield node.name.id
    yield from (name for target in targets(node) for name in target_names(target) if name)
    for inner in _inner(node):
        yield from _bound_by_statement(inner)


def _inner(node: ast.stmt) -> Iterator[ast.stmt]:
    """The statements inside of another that run as a part of the module's body."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.stmt):
            yield part
        elif isinstance(part, (ast.ExceptHandler, ast.match_case)):
            yield from part.body


def _imports_when_run(node: ast.AST) -> Iterator[tuple[str, Import]]:
    """What a statement imports when it runs."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (("", target) for _, targets in _run_by(node) for target in targets)
    elif not isinstance(node, _SCOPES) or isinstance(node, ast.ClassDef):
        for child in ast.iter_child_nodes(node):
            yield from _imports_when_run(child)


def _run_by(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[Import, list[Import]]]:
    """What a name stands for, and all that is imported for it: `import a.b` binds `a`."""
    if isinstance(node, ast.ImportFrom):
        yield from ((target, [target]) for _, target in imports(node))
        return
    whole: dict[Import, list[Import]] = {}
    for (_, target), alias in zip(imports(node), node.names, strict=True):
        whole.setdefault(target, []).append(Import(0, tuple(alias.name.split(".")), ""))
    yield from whole.items()


def _is_for_scripts(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which no import runs."""
    if not isinstance(node, ast.If) or node.orelse or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    texts = {side.id if isinstance(side, ast.Name) else getattr(side, "value", None) for side in sides}
    return [type(op) for op in node.test.ops] == [ast.Eq] and texts == {"__name__", "__main__"}


def _is_for_typing(node: ast.stmt) -> bool:
    """`if TYPE_CHECKING:`, whose names stand for types in annotations only."""
    chain = name_chain(node.test) if isinstance(node, ast.If) and not node.orelse else None
    return chain is not None and chain[-1] == "TYPE_CHECKING"


def _is_tame(node: ast.ClassDef) -> bool:
    """Whether a class leaves alone those which are derived from it."""
    hooks = {"__init_subclass__", "__mro_entries__"}
    named = {name for inner in node.body for name in _bound_by_statement(inner)}
    return not hooks & named and not any(keyword.arg == "metaclass" for keyword in node.keywords)
