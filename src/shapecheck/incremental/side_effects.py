"""Which statements of a module do nothing when they run but bind their names.

What is not known to be innocent counts as an act, so that these lists may lack things, but not hold wrong ones.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from shapecheck.evaluate.framework_protocol import framework_facts
from shapecheck.incremental.name_references import Chain, Import, words
from shapecheck.syntax.scopes import name_chain, single_targets

# Packages, beside the frameworks, whose functions keep nothing of what they are given.
_PURE = words(
    """abc beartype chex collections contextlib copy dataclasses datetime einops enum fractions functools hypothesis
    inspect itertools jax jaxlib jaxtyping logging math ml_dtypes numbers numpy operator optax os pathlib pytest re
    scipy shapecheck string textwrap types typing typing_extensions unittest absl"""
)
# Parts of their names that tell of a state.
_STATEFUL = words(
    """config configure environ environb random seed set_default_device getenv putenv register register_backend
    basicConfig disable chdir remove mkdir makedirs system register_event_listener register_profile load_profile
    initialize set_mesh stdout stderr reload patch"""
)
_STATELESS_RANDOM = frozenset({"default_rng", "Generator", "RandomState", "SeedSequence"})
_BUILTIN_CALLS = words(
    """abs all any bool bytes chr complex dict divmod enumerate float frozenset int isinstance issubclass len list
    map max min object ord pow property range repr reversed round set slice sorted str sum tuple zip classmethod
    staticmethod super"""
)
_BUILTIN_BASES = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))
# Classes that look at their subclasses, but keep nothing of them that another class would see.
_BASES = words(  # beside those of frameworks
    """abc.ABC chex.TestCase dataclasses.KW_ONLY enum.Enum enum.Flag enum.IntEnum enum.IntFlag enum.StrEnum
    typing.Generic typing.NamedTuple typing.Protocol typing.TypedDict typing_extensions.NamedTuple
    typing_extensions.Protocol typing_extensions.TypedDict unittest.TestCase absl.testing.absltest.TestCase
    absl.testing.parameterized.TestCase"""
)
_METACLASSES = frozenset({"abc.ABCMeta", "enum.EnumMeta", "enum.EnumType"})
_RULES = frozenset({"defjvp", "defvjp", "defjvps", "def_vmap"})  # they give JAX's functions rules of their own
# Modules that are wherever JAX is.
_THERE = words(
    """abc collections contextlib copy dataclasses datetime enum functools itertools math operator os pathlib re string
    textwrap types typing jax jax.lax jax.nn jax.numpy jax.random numpy"""
)
_ACCESSORS = frozenset({"setter", "getter", "deleter"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TRY = (ast.Try, ast.TryStar)


@dataclass(frozen=True)
class SideEffects:
    """Judges the statements of one module. `project` are the first names of modules that may be the project's own.

    `imports` are what names are imported from, `defined` the names that the module binds otherwise. In tests the
    arguments of decorators may be anything, for what they would do shows in functions that run.
    """

    imports: Mapping[str, Sequence[Import]]
    defined: frozenset[str]
    project: frozenset[str]
    tests: bool

    def innocent(self, node: ast.stmt) -> bool:
        """Whether a statement does nothing but bind names; classes may still have bases that make a difference."""
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)):
            return True
        if isinstance(node, _FUNCTIONS):
            return node.name not in ("__getattr__", "__dir__") and self._defines(node)
        if isinstance(node, ast.ClassDef):
            return self._class(node)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return self._assigns(node)
        if isinstance(node, ast.If):
            return self._pure(node.test) and self._all([*node.body, *node.orelse])
        if isinstance(node, _TRY):
            kinds = [handler.type for handler in node.handlers if handler.type is not None]
            inner = [*node.body, *node.orelse, *node.finalbody, *(s for h in node.handlers for s in h.body)]
            return all(map(self._pure, kinds)) and self._all(inner)
        if isinstance(node, ast.Expr):
            return (
                isinstance(node.value, ast.Constant)
                or self.function_given_rule(node) is not None
                or self._is_observed(node.value)
            )
        return sys.version_info >= (3, 12) and isinstance(node, ast.TypeAlias)

    def certain(self, node: ast.stmt, *, texts: bool) -> bool:
        """Whether a statement cannot fail, whatever else there is. `texts`: annotations are not evaluated."""
        if isinstance(node, ast.Import):
            return all(
                alias.name in _THERE and alias.name.partition(".")[0] not in self.project for alias in node.names
            )
        if isinstance(node, ast.Assign):
            return all(isinstance(target, ast.Name) for target in node.targets) and _is_plain(node.value)
        if not isinstance(node, _FUNCTIONS) or node.decorator_list or getattr(node, "type_params", None):
            return False
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        arguments += [each for each in (node.args.vararg, node.args.kwarg) if each is not None]
        annotated = node.returns is not None or any(each.annotation is not None for each in arguments)
        defaults = [each for each in (*node.args.defaults, *node.args.kw_defaults) if each is not None]
        return (texts or not annotated) and all(map(_is_plain, defaults))

    def function_given_rule(self, node: ast.stmt) -> str | None:
        """The function of the module that gets a rule: `f` in `f.defvjp(forward, backward)`, or under `@f.defjvp`."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            given = [*node.value.args, *(k.value for k in node.value.keywords)]
            chain = name_chain(node.value.func)
            if chain is not None and self._is_rule(chain) and all(map(self._pure, given)):
                return chain[0]
        if isinstance(node, _FUNCTIONS):
            for decorator in node.decorator_list:
                chain = name_chain(decorator.func if isinstance(decorator, ast.Call) else decorator)
                if chain is not None and self._is_rule(chain):
                    return chain[0]
        return None

    def external(self, chain: Chain) -> str:
        """The full name of what a chain leads to, if that is outside of the project; else ""."""
        targets = self.imports.get(chain[0], ())
        if len(targets) != 1 or targets[0].level or chain[0] in self.defined:
            return ""
        target = targets[0]
        full = (*target.module, *([target.name] if target.name else []), *chain[1:])
        return "" if full[0] in self.project else ".".join(full)

    def _all(self, nodes: Iterable[ast.stmt]) -> bool:
        return all(self.innocent(node) or isinstance(node, ast.Raise) for node in nodes)

    def _is_rule(self, chain: Chain) -> bool:
        return len(chain) == 2 and chain[1] in _RULES and chain[0] not in self.imports

    def _is_observed(self, node: ast.expr) -> bool:
        """Whether it changes a setting of JAX, in a test: what all tests leave of them is compared by itself."""
        chain = name_chain(node.func) if isinstance(node, ast.Call) else None
        return self.tests and chain is not None and self.external(chain).startswith("jax.config.")

    def _defines(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        parts = [node.args, *([node.returns] if node.returns else [])]
        inner = [child for part in parts for child in _outermost(part)]
        return all(map(self._decorates, node.decorator_list)) and all(map(self._pure, inner))

    def _class(self, node: ast.ClassDef) -> bool:
        for keyword in node.keywords:
            if keyword.arg == "metaclass" and self._external(keyword.value) not in _METACLASSES:
                return False
        values = [k.value for k in node.keywords if k.arg != "metaclass"]
        return (
            all(self.known_base(base) is not None for base in node.bases)
            and all(map(self._pure, values))
            and all(map(self._decorates, node.decorator_list))
            and self._all(node.body)
        )

    def known_base(self, node: ast.expr) -> Chain | None:
        """() for a base class that makes no difference, its chain for one of the project, None for others."""
        if isinstance(node, ast.Subscript):
            return self.known_base(node.value)
        chain = name_chain(node)
        if chain is None:
            return None
        full = self.external(chain)
        if full:
            return () if full in _BASES or full in framework_facts("without_effects") else None
        return () if self._is_builtin(chain, _BUILTIN_BASES) else chain

    def _assigns(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if isinstance(node, ast.AugAssign) and name_chain(node.target) != ("__all__",):
            return False
        if any(
            name in ("__getattr__", "__dir__", "__class__", "") for target in targets for name in target_names(target)
        ):
            return False
        parts = [node.value, node.annotation] if isinstance(node, ast.AnnAssign) else [node.value]
        return all(self._pure(part) for part in parts if part is not None)

    def _decorates(self, node: ast.expr) -> bool:
        call = isinstance(node, ast.Call)
        chain = name_chain(node.func if isinstance(node, ast.Call) else node)
        if chain is None:
            return False
        given = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else []
        known = self._is_builtin(chain, _BUILTIN_CALLS) or self._is_rule(chain) or self._is_pure(chain)
        known = known or (len(chain) == 2 and chain[1] in _ACCESSORS)
        return known and (self.tests or not call or all(map(self._pure, given)))

    def _is_pure(self, chain: Chain) -> bool:
        full = self.external(chain).split(".")
        if full[0] not in pure_packages():
            return False
        if full[:2] == ["jax", "random"] or full[-1] in _STATELESS_RANDOM:
            return True
        return _STATEFUL.isdisjoint(full)

    def _external(self, node: ast.expr) -> str:
        chain = name_chain(node)
        return self.external(chain) if chain is not None else ""

    def _pure(self, node: ast.AST) -> bool:
        """Whether computing a value does nothing else."""
        pending = [node]
        while pending:
            item = pending.pop()
            if isinstance(item, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
                return False
            if isinstance(item, ast.Call) and not self._calls(item):
                return False
            if isinstance(item, ast.Lambda):
                pending.append(item.args)
            else:
                pending += ast.iter_child_nodes(item)
        return True

    def _calls(self, node: ast.Call) -> bool:
        function = node.func
        chain = name_chain(function)
        if chain is not None:
            return self._is_builtin(chain, _BUILTIN_CALLS) or self._is_pure(chain)
        if not isinstance(function, ast.Attribute) or function.attr in _STATEFUL:
            return False
        inner: ast.expr = function
        while isinstance(inner, (ast.Attribute, ast.Subscript)):  # a method of what such a call gives, or of a text
            inner = inner.value
        return isinstance(inner, (ast.Call, ast.Constant, ast.JoinedStr))

    def _is_builtin(self, chain: Chain, names: frozenset[str]) -> bool:
        return len(chain) == 1 and chain[0] in names and chain[0] not in self.defined and chain[0] not in self.imports


@cache
def pure_packages() -> frozenset[str]:
    """Packages whose functions make values or wrap functions, and keep nothing of what they are given.

    Those that call functions of the project at once are found out when they do: the worker tells which functions ran
    on import.
    """
    return _PURE | framework_facts("without_effects")


def target_names(target: ast.expr) -> list[str]:
    """The names that an assignment to `target` binds; "" stands for a part of something else."""
    return [single.id if isinstance(single, ast.Name) else "" for single in single_targets(target)]


def _is_plain(node: ast.expr) -> bool:
    """Whether it is made of constants."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(map(_is_plain, node.elts))
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp) and type(getattr(node.operand, "value", None)) in (int, float)
    )


def _outermost(node: ast.AST) -> list[ast.expr]:
    """The expressions in a signature."""
    if isinstance(node, ast.expr):
        return [node]
    return [found for child in ast.iter_child_nodes(node) for found in _outermost(child)]
