"""What the names of a file's type annotations mean: imports, aliases, and constants in shape strings."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from shapecheck.shapes import DTYPES, is_kauldron, jaxtyping_class
from shapecheck.syntax.scopes import PlacedStatement, dotted_name

_JAXTYPING = "jaxtyping"
# Its own aliases of arrays without axes. (Those of random keys say nothing of a shape.)
_SCALARS = {"Scalar": "Array", "ScalarLike": "ArrayLike"}
TYPED_DICT = "TypedDict"
_MOST_NAMES = 8  # for one type, each of them assigned to the next


@dataclass(frozen=True)
class ArrayClass:
    """A name that stands for an array type of jaxtyping. If not `certain`, another module exports that name.

    If it is `kauldron`, its shapes are written a little differently.
    """

    dtype: str
    certain: bool
    kauldron: bool = False


@dataclass(frozen=True)
class Alias:
    """What a name stands for: an expression, with the `names` of the file in which it stands; None if none can tell.

    `origin` is that file, if it is another one.
    """

    names: Names
    value: ast.expr | None
    origin: str = ""


@dataclass(kw_only=True)
class Names:
    """The tables of one file. A name counts for the whole file, wherever it is imported.

    `unclear` are names that may stand for an array type, but are assigned in more ways than one. `follow` finds what
    another file of the project calls by a name.
    """

    imported: dict[str, tuple[str, str]] = field(default_factory=dict)  # name -> (module, name there or "")
    starred: set[str] = field(default_factory=set)
    aliases: dict[str, ast.expr] = field(default_factory=dict)
    constants: dict[str, str | int] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    follow: Callable[[str, Sequence[str]], Alias | None] | None = None

    def alias(self, node: ast.expr) -> Alias | None:
        """What a name stands for, be it here or in a file that it is imported from."""
        name = dotted_name(node)
        if name is None:
            return None
        first, *rest = name.split(".")
        own = (self.own_alias(first) if not rest else None) or self._scalar_alias(first, rest)
        if own is not None or self.follow is None:
            return own
        if first in self.imported:
            module, original = self.imported[first]
            return self.follow(module, [*([original] if original else []), *rest])
        found = (self.follow(module, [first]) for module in sorted(self.starred) if not rest)
        return next((alias for alias in found if alias is not None), None)

    def _scalar_alias(self, first: str, rest: Sequence[str]) -> Alias | None:
        """`Shaped[Array, ""]` for jaxtyping's own `Scalar`, in whatever way it is imported."""
        module, original = self.imported.get(first, ("", ""))
        path = [*([original] if original else []), *rest]
        if module != _JAXTYPING or len(path) != 1 or path[0] not in _SCALARS:
            return None
        return _SCALAR_ALIASES[path[0]]

    def own_alias(self, name: str) -> Alias | None:
        """What a name of this very file stands for."""
        if name in self.aliases:
            return Alias(self, self.aliases[name])
        return Alias(self, None) if name in self.unclear else None

    def original(self, node: ast.expr) -> str:
        """The last part of a name, as its own module calls it: `Optional` for `t.Optional` and for `Opt`."""
        name = dotted_name(node)
        if name is None:
            return ""
        if name in self.imported:
            module, own = self.imported[name]
            return own or module
        return name.rpartition(".")[2]

    def array_class(self, node: ast.expr, depth: int = _MOST_NAMES) -> ArrayClass | None:
        """The array type that a name stands for, also where it is another name for it: `Float = jaxtyping.Float`."""
        found = self._own_array_class(node)
        alias = self.alias(node) if found is None and depth else None
        if alias is None or not isinstance(alias.value, ast.Name | ast.Attribute):
            return found
        return alias.names.array_class(alias.value, depth - 1)

    def _own_array_class(self, node: ast.expr) -> ArrayClass | None:
        name = dotted_name(node)
        if name is None:
            return None
        module, _, last = name.rpartition(".")
        if module:
            first, _, rest = module.partition(".")
            if first not in self.imported:
                return None
            path = ".".join(part for part in (*self.imported[first], rest) if part)
            return _array_class(path, last)
        if last in self.imported:
            return _array_class(*self.imported[last])
        if last in DTYPES and self.starred and last not in self.aliases:
            return ArrayClass(last, _JAXTYPING in self.starred)
        return None

    def text(self, node: ast.expr) -> str | None:
        """The text of a string expression made of constants only; None for any other."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            value = self.constants.get(node.id)
            return value if isinstance(value, str) else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.text(node.left), self.text(node.right)
            return None if left is None or right is None else left + right
        if isinstance(node, ast.JoinedStr):
            parts = [self._template_part(part) for part in node.values]
            return None if None in parts else "".join(part for part in parts if part is not None)
        return None

    def _template_part(self, node: ast.expr) -> str | None:
        if not isinstance(node, ast.FormattedValue):
            return self.text(node)
        if node.format_spec is not None or node.conversion != -1:
            return None
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str | int):
            return str(node.value.value)
        if isinstance(node.value, ast.Name) and node.value.id in self.constants:
            return str(self.constants[node.value.id])
        return None


_SCALAR_ALIASES = {
    name: Alias(
        Names(imported={"Shaped": (_JAXTYPING, "Shaped"), array: (_JAXTYPING, array)}),
        ast.parse(f'Shaped[{array}, ""]', mode="eval").body,
        _JAXTYPING,
    )
    for name, array in _SCALARS.items()
}


def _array_class(module: str, name: str) -> ArrayClass | None:
    """What a module calls by a name."""
    if is_kauldron(module):
        dtype = jaxtyping_class(module, name)
        return ArrayClass(dtype, certain=False, kauldron=True) if dtype is not None else None
    return ArrayClass(name, module == _JAXTYPING) if name in DTYPES else None


def read_names(statements: Iterable[PlacedStatement], class_bodies: frozenset[int]) -> Names:
    """Fill the tables from all statements. Aliases and constants are those of the module and of `class_bodies`."""
    names = Names()
    assigned: dict[str, list[ast.expr]] = {}
    for placed in statements:
        node = placed.node
        if isinstance(node, ast.Import):
            for alias in node.names:
                _note_import(names, alias)
        elif isinstance(node, ast.ImportFrom):
            _note_import_from(names, node)
        elif placed.scope == 0 or placed.scope in class_bodies:
            _note_alias(names, node, assigned)
        for parameter in getattr(node, "type_params", ()):  # `def f[T: Float[Array, "n"]](x: T)`
            bound = getattr(parameter, "bound", None) or ast.Constant(None)
            _note_value(names, parameter.name, bound, assigned)
    for name, values in assigned.items():
        if len(values) > 1:  # nobody can tell which one an annotation sees
            names.aliases.pop(name, None)
            names.constants.pop(name, None)
        if name not in names.aliases and any(map(_mentions_arrays, values)):
            names.unclear.add(name)
    return names


def _mentions_arrays(value: ast.expr) -> bool:
    """Whether an expression has an array type of jaxtyping in it: `Float[Array, "b"] if TYPED else Any`."""
    parts = (part for part in ast.walk(value) if isinstance(part, ast.Subscript))
    return any((dotted_name(part.value) or "").rpartition(".")[2] in DTYPES for part in parts)


def _note_import(names: Names, alias: ast.alias) -> None:
    if alias.asname:
        names.imported[alias.asname] = (alias.name, "")
    else:
        first = alias.name.partition(".")[0]
        names.imported[first] = (first, "")


def _note_import_from(names: Names, node: ast.ImportFrom) -> None:
    module = "." * node.level + (node.module or "")
    for alias in node.names:
        if alias.name == "*":
            names.starred.add(module)
        else:
            names.imported[alias.asname or alias.name] = (module, alias.name)


def _note_alias(names: Names, node: ast.stmt, assigned: dict[str, list[ast.expr]]) -> None:
    value: ast.expr | None = None
    target: ast.expr | None = None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AnnAssign):
        target, value = node.target, node.value
    elif sys.version_info >= (3, 12) and isinstance(node, ast.TypeAlias):
        target, value = node.name, node.value
    elif isinstance(node, ast.ClassDef):
        target, value = ast.Name(node.name), _callable_of_protocol(node) or _entries_of_class(node, names)
    if isinstance(target, ast.Name) and value is not None:
        _note_value(names, target.id, _entries_of_call(value) or _bound_of_variable(value) or value, assigned)


def is_typed_dict(value: ast.expr | None) -> TypeGuard[ast.Subscript]:
    """Whether what a name stands for is a TypedDict, as `TypedDict[{"tokens": X, ...}]`."""
    return (
        isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Dict) and _is_called(value.value, TYPED_DICT)
    )


def _is_called(node: ast.expr, name: str) -> bool:
    return (dotted_name(node) or "").rpartition(".")[2] == name


def _entries_of_class(node: ast.ClassDef, names: Names) -> ast.expr | None:
    """The entries of `class Batch(TypedDict): ...`, those of the bases first; None for any other class."""
    bases = [names.aliases.get(dotted_name(base) or "") for base in node.bases]
    if not any(map(is_typed_dict, bases)) and not any(_is_called(base, TYPED_DICT) for base in node.bases):
        return None
    entries: dict[str, ast.expr] = {}
    for base in filter(is_typed_dict, bases):
        entries.update(typed_dict_entries(base))
    fields = (each for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name))
    entries.update({each.target.id: each.annotation for each in fields if isinstance(each.target, ast.Name)})
    return _typed_dict(entries)


def _entries_of_call(value: ast.expr) -> ast.expr | None:
    """The entries of `TypedDict("Batch", {"tokens": X, ...})`; None for anything else."""
    if not (isinstance(value, ast.Call) and _is_called(value.func, TYPED_DICT) and len(value.args) == 2):
        return None
    given = value.args[1]
    return ast.Subscript(ast.Name(TYPED_DICT), given) if isinstance(given, ast.Dict) else None


def _bound_of_variable(value: ast.expr) -> ast.expr | None:
    """What `TypeVar("T", bound=Float[Array, "n"])` may be at most, and `NewType("Batch", Float[Array, "n"])` is.

    None for anything else, and for other bounds.
    """
    if not isinstance(value, ast.Call):
        return None
    if _is_called(value.func, "NewType") and len(value.args) > 1:
        return value.args[1] if _mentions_arrays(value.args[1]) else None
    if not _is_called(value.func, "TypeVar"):
        return None
    bound = next((each.value for each in value.keywords if each.arg == "bound"), None)
    return bound if bound is not None and _mentions_arrays(bound) else None


def _typed_dict(entries: Mapping[str, ast.expr]) -> ast.expr:
    return ast.Subscript(ast.Name(TYPED_DICT), ast.Dict([ast.Constant(each) for each in entries], [*entries.values()]))


def typed_dict_entries(value: ast.Subscript) -> dict[str, ast.expr]:
    """The types of the entries of a TypedDict, by key."""
    entries = value.slice
    pairs = zip(entries.keys, entries.values, strict=True) if isinstance(entries, ast.Dict) else ()
    return {key.value: each for key, each in pairs if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def _callable_of_protocol(node: ast.ClassDef) -> ast.expr | None:
    """What a Protocol with a `__call__` says of functions, as `Callable[[X, Y], Z]`; None for any other class."""
    bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    calls = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__call__"]
    if len(calls) != 1 or not any((dotted_name(base) or "").rpartition(".")[2] == "Protocol" for base in bases):
        return None
    arguments, anything = calls[0].args, ast.Constant(None)
    taken = [each.annotation or anything for each in (*arguments.posonlyargs, *arguments.args)[1:]]
    parts = [ast.List(taken), calls[0].returns or anything]
    return ast.Subscript(ast.Name("Callable"), ast.Tuple(parts))


def _note_value(names: Names, name: str, value: ast.expr, assigned: dict[str, list[ast.expr]]) -> None:
    assigned.setdefault(name, []).append(value)
    if isinstance(value, ast.Constant):
        if isinstance(value.value, str | int):
            names.constants[name] = value.value
            names.aliases[name] = value  # `Img = "Float[Array, 'h w']"`
    elif isinstance(value, ast.Subscript | ast.BinOp | ast.Name | ast.Attribute):
        names.aliases[name] = value
