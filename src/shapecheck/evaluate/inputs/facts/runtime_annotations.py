"""What annotations say, at run time: resolved, also by what is imported for type checkers only, and sorted by kind."""

from __future__ import annotations

import argparse
import ast
import collections.abc
import dataclasses
import functools
import importlib
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from shapecheck.evaluate.inputs.facts.defining_source import defining_source
from shapecheck.evaluate.limits import TimeLimitError
from shapecheck.evaluate.own_errors import raise_own
from shapecheck.evaluate.parse_python import parse_python
from shapecheck.evaluate.probes.attribute_access import read_attribute, underlying_function
from shapecheck.shapes import Spec, SpecError, is_kauldron, jaxtyping_class, jaxtyping_texts, parse_spec


def typing_names(module: str) -> Mapping[str, object]:
    """What the imports under `if TYPE_CHECKING:` of a loaded module would bind, as far as they can be imported."""
    return _typing_names(module) if module in sys.modules else {}


@functools.lru_cache(maxsize=256)
def _typing_names(module: str) -> Mapping[str, object]:
    try:
        tree = parse_python(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, SyntaxError):
        return {}
    found: dict[str, object] = {}
    package = str(getattr(sys.modules[module], "__package__", "") or "")
    for statement in _imports(tree):
        for alias in statement.names:
            name = alias.asname or (alias.name.partition(".")[0] if isinstance(statement, ast.Import) else alias.name)
            value = _import_name(statement, alias, package)
            if value is not None:
                found[name] = value
    return found


def _imports(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    for statement in tree.body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test).rpartition(".")[2] == "TYPE_CHECKING":
            yield from (s for s in statement.body if isinstance(s, (ast.Import, ast.ImportFrom)))


def _import_name(statement: ast.Import | ast.ImportFrom, alias: ast.alias, package: str) -> object:
    try:
        if isinstance(statement, ast.Import):
            module = importlib.import_module(alias.name)
            return module if alias.asname else sys.modules.get(alias.name.partition(".")[0])
        source = importlib.import_module("." * statement.level + (statement.module or ""), package or None)
        if hasattr(source, alias.name):
            return getattr(source, alias.name)
        return importlib.import_module(f"{source.__name__}.{alias.name}")
    except TimeLimitError:
        raise
    except Exception as error:  # stubs that exist for type checkers only; or a module whose import raises anything
        raise_own(error)
        return None


MISSING = inspect.Parameter.empty
"""There is no annotation, or none that can be resolved; there is no default."""

_SILENT = (None, MISSING, Any, "Any")


def signature_of(function: Callable[..., object]) -> inspect.Signature:
    """The parameters of a function or class: where a metaclass hides them, as Flax's do, those of `__init__`.

    Raises TypeError or ValueError where they cannot be read.
    """
    found = inspect.signature(function)
    if isinstance(function, type) and type(function) is not type:
        kinds = {p.kind for p in found.parameters.values()}
        if kinds == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
            own = inspect.signature(inspect.getattr_static(function, "__init__"))
            return own.replace(parameters=list(own.parameters.values())[1:])
    return found


def annotation_of(function: Callable[..., object], name: str, raw: object) -> object:
    """The annotation, resolved if it is a string; left out if it cannot be."""
    if isinstance(function, type):
        for cls in function.__mro__:
            init = vars(cls).get("__init__")
            of_init = own_annotations(init) if init is not None else {}
            if init is not None and of_init.get(name) not in _SILENT:
                found = annotation_of(init, name, of_init[name])
                # Of a field with a converter Equinox writes what the converter takes into the constructor, too.
                is_of_converter = holds_plain_array(found) or _has_converter(cls, name)
                own = annotation_of_field(cls, name) if is_of_converter else MISSING
                return own if array_type(own) is not None else found
            if name in (annotations := own_annotations(cls)) and not _is_made_of(init, name):
                # Of a field with a converter the signature says what the converter takes: often anything.
                own_annotation = annotations[name] if not _is_comparable(raw) or raw in _SILENT else raw
                inside = {**_type_parameters(cls), **vars(cls)}
                return _resolve(own_annotation, vars(sys.modules.get(cls.__module__, typing)), inside)
    inner = underlying_function(function)
    return _resolve(raw, getattr(inner, "__globals__", {}), _type_parameters(inner))


def _has_converter(cls: type, name: str) -> bool:
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return any(each.name == name and "converter" in each.metadata for each in fields)


def _type_parameters(owner: object) -> dict[str, object]:
    """The type parameters (PEP 695) of a class or function, and of the classes around it, by their names."""
    found: dict[str, object] = {}
    around: object = sys.modules.get(str(read_attribute(owner, "__module__")))
    names = str(read_attribute(owner, "__qualname__", "")).split(".")[:-1]
    for each in (*names, None):
        around = read_attribute(around, each, None) if each is not None else owner
        parameters = read_attribute(around, "__type_params__", ())
        if isinstance(parameters, tuple):  # and no object that has whatever it is asked for
            found.update((str(one), one) for one in parameters)
    return found


def _is_made_of(init: object, name: str) -> bool:
    """Whether a written constructor makes an instance of a class for the field: `self.basis = Basis(0.0, 1.0, basis)`.

    Or looks up the parameter: `self.norm = NORMS[norm]`. The field's annotation then says nothing of the parameter.
    """
    source = defining_source(init) if isinstance(init, types.FunctionType) else None
    for node in ast.walk(source.tree) if source is not None else ():
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call | ast.Subscript):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if f"self.{name}" in map(ast.unparse, targets) and _says_nothing_of(node.value, name):
                return True
    return False


def _says_nothing_of(made: ast.Call | ast.Subscript, name: str) -> bool:
    if isinstance(made, ast.Subscript):
        return isinstance(made.slice, ast.Name) and made.slice.id == name
    return ast.unparse(made.func).rpartition(".")[2][:1].isupper()


def annotation_of_field(cls: type, name: str) -> object:
    """What the body of a class annotates a field with, resolved."""
    found = own_annotations(cls).get(name, MISSING)
    return _resolve(found, vars(sys.modules.get(cls.__module__, typing)), vars(cls))


def typed_dict_entries(annotation: object) -> Mapping[str, object] | None:
    """The types of the entries that a TypedDict may have, resolved; None for any other annotation."""
    if not isinstance(annotation, type) or not hasattr(annotation, "__required_keys__"):
        return None
    found: dict[str, object] = {}
    for name, raw in own_annotations(annotation).items():
        meant = _resolve(raw, vars(sys.modules.get(annotation.__module__, typing)), {})
        marker = str(getattr(typing.get_origin(meant), "_name", ""))
        found[name] = typing.get_args(meant)[0] if marker in ("Required", "NotRequired", "ReadOnly") else meant
    return found


def own_annotations(annotated: Callable[..., object]) -> Mapping[str, object]:
    """What a function, or the body of a class, annotates itself. `type`, above metaclasses, has a descriptor there."""
    try:
        found = inspect.get_annotations(annotated)
    except Exception:  # Python 3.14 evaluates them only now, and the names may not be there
        return {}
    return {name: raw for name, raw in found.items() if _is_comparable(raw)}


def _is_comparable(raw: object) -> bool:
    """Whether an annotation compares as types do: `x: np.zeros((3, 2))` and tables compare element by element.

    Such a value is no type, and says nothing here.
    """
    try:
        return isinstance(raw == MISSING, bool)
    except Exception as error:  # what users' classes raise
        raise_own(error)
        return False


def _resolve(raw: object, module: Mapping[str, object], members: Mapping[str, object]) -> object:
    return _without_aliases(_evaluate_text(raw, module, members), _DEEPEST)


_ALIAS: Any = getattr(typing, "TypeAliasType", ())  # since Python 3.12
_DEEPEST = 16  # aliases of aliases: they may also stand for themselves


def _without_aliases(annotation: object, deepest: int) -> object:
    """What aliases stand for, in tuples and unions too: `type Batch = ...`, and `NewType("Level", int)`.

    One of which nobody can tell is left out.
    """
    if not deepest:
        return MISSING
    if isinstance(annotation, typing.NewType):
        return _without_aliases(annotation.__supertype__, deepest - 1)
    if isinstance(annotation, _ALIAS):
        try:
            return _without_aliases(annotation.__value__, deepest - 1)
        except NameError:  # it is evaluated only now
            return MISSING
    arguments = typing.get_args(annotation)
    if isinstance(typing.get_origin(annotation), _ALIAS):  # its parameters stay what they are: they have no shape
        return _without_aliases(typing.get_origin(annotation), deepest - 1)
    if arguments and isinstance(arguments[0], list):
        return _callable_without_aliases(annotation, deepest)
    inner = tuple(_without_aliases(each, deepest - 1) for each in arguments)
    if _are_same(inner, arguments) or MISSING in inner:
        return annotation
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.Union[inner]  # noqa: UP007 - of a tuple
    origin = typing.get_origin(annotation)
    return types.GenericAlias(origin, inner) if isinstance(origin, type) else annotation


def _callable_without_aliases(annotation: object, deepest: int) -> object:
    """The same of a callable, of which the parameters are a list: `Callable[[Batch], Batch]`."""
    parameters, result = typing.get_args(annotation)
    before = (*parameters, result)
    inner = tuple(_without_aliases(each, deepest - 1) for each in before)
    if _are_same(inner, before) or MISSING in inner:
        return annotation
    return collections.abc.Callable[[*inner[:-1]], inner[-1]]


def _are_same(ones: Sequence[object], others: Sequence[object]) -> bool:
    return all(one is other for one, other in zip(ones, others, strict=True))


def _evaluate_text(raw: object, module: Mapping[str, object], members: Mapping[str, object]) -> object:
    if not isinstance(raw, (str, typing.ForwardRef)):
        return raw if _is_comparable(raw) else MISSING
    holder = types.SimpleNamespace(__annotations__={"it": raw})
    try:
        return typing.get_type_hints(holder, dict(module), dict(members), include_extras=True)["it"]
    except NameError:
        hidden = typing_names(str(module.get("__name__", "")))
        if hidden and not hidden.keys() <= module.keys():
            return _evaluate_text(raw, {**hidden, **module}, members)
        return MISSING
    # A package that is imported where it is used first; and what jaxtyping refuses, of which a finding tells.
    except (TypeError, ValueError, SyntaxError, AttributeError, ImportError):
        return MISSING


def preference(member: object) -> tuple[bool, bool, bool]:
    """The order in which the members of a union are tried: arrays first, floating ones before integers."""
    found = array_type(member)
    whole = found is not None and found.dtype.startswith(("Int", "UInt", "Bool"))
    return member is type(None), not is_array_type(member), whole


def of_several_ranks(members: Sequence[object]) -> Mapping[str, object]:
    """The array types of a union by their texts, if some have another number of axes than others; else none."""
    found = {each.shape: member for member in members if (each := array_type(member)) is not None}
    return found if len({len(parse_spec(shape).dims) for shape in found}) > 1 else {}


def is_config(cls: type) -> bool:
    """Whether a class only holds settings, so that its integers speak for themselves."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):  # arrays are rather in one that is no configuration
        fields = [annotation_of(cls, name, raw) for name, raw in own_annotations(cls).items()]
        return any(each is int for each in fields) and not any(map(_may_hold_arrays, fields))
    return dataclasses.is_dataclass(cls) and not any("__call__" in vars(c) for c in cls.__mro__)


def _may_hold_arrays(annotation: object) -> bool:
    return is_array_type(annotation) or annotation is Any or is_plain_array(annotation)


def is_plain_array(annotation: object) -> bool:
    """Whether an annotation says that there is an array, and nothing of its shape. What stands for one is as good."""
    return annotation in (jax.Array, np.ndarray, jax.ShapeDtypeStruct)


def holds_anything(annotation: object) -> bool:
    """Whether a type says nothing of what is in it: a dict of texts, or any pytree."""
    origin = typing.get_origin(annotation)
    if annotation is dict or origin in (dict, collections.abc.Mapping):
        return True
    return any(each.__name__ == "PyTree" for each in getattr(annotation, "__mro__", ()))


def is_callable(annotation: object) -> bool:
    """Whether a type is that of functions."""
    return collections.abc.Callable in (annotation, typing.get_origin(annotation)) or annotation is Callable


def holds_attributes(annotation: object) -> bool:
    """Whether a class says nothing of what its instances hold: a namespace, or a table whose keys are attributes."""
    if not isinstance(annotation, type) or isinstance(annotation, type(typing.Protocol)):
        return False
    is_table = any("__getattr__" in vars(each) for each in annotation.__mro__) and hasattr(annotation, "__getitem__")
    return annotation in (types.SimpleNamespace, argparse.Namespace) or (is_table and hasattr(annotation, "keys"))


def leaves_open(annotation: object) -> bool:
    """Whether a type says nothing of the arrays in it, or of those that a function gives."""
    arguments = typing.get_args(annotation)
    if annotation in (MISSING, Any) or holds_anything(annotation):
        return True
    return is_callable(annotation) and not (len(arguments) > 1 and is_array_type(arguments[-1]))


def holds_plain_array(annotation: object) -> bool:
    """Whether an annotation is such a type, or a union with one."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return any(map(is_plain_array, typing.get_args(annotation)))
    return is_plain_array(annotation)


def may_be_none(annotation: object) -> bool:
    """Whether an annotation admits None, or an array of which it says no shape."""
    return type(None) in typing.get_args(annotation) and holds_plain_array(annotation)


def admits_integer(annotation: object) -> bool:
    """Whether an integer is among what an annotation admits."""
    return annotation is int or int in typing.get_args(annotation)


class ArrayType(NamedTuple):
    """What a type of arrays says: the shape in jaxtyping's notation, and jaxtyping's class of dtypes."""

    shape: str
    dtype: str


def array_type(annotation: object) -> ArrayType | None:
    """What an annotation says that is an array type of jaxtyping, or of kauldron; None if it is none.

    `from typing import Annotated as Float` leaves of jaxtyping's the array and the text, and no dtype.
    """
    if typing.get_origin(annotation) is typing.Annotated:
        return _annotated_type(*typing.get_args(annotation))
    if not isinstance(annotation, type):
        return None
    if isinstance(text := getattr(annotation, "dim_str", None), str) and hasattr(annotation, "dtypes"):
        return ArrayType(text, vars(annotation)["dtype"].__name__)
    origin, text = type(annotation).__module__, getattr(annotation, "shape_spec", None)
    if not is_kauldron(origin) or not isinstance(text, str):
        return None
    dtype = jaxtyping_class(origin, annotation.__name__.partition("[")[0])
    try:
        return ArrayType(jaxtyping_texts(text)[0], dtype) if dtype is not None else None
    except SpecError:
        return None


def _annotated_type(array: object, *said: object) -> ArrayType | None:
    text = said[0] if len(said) == 1 else None
    if not is_plain_array(array) or not isinstance(text, str):
        return None
    try:
        parse_spec(text, strict=True)
    except SpecError:
        return None
    return ArrayType(text, "")


def is_dtype_class(annotation: object) -> type[float] | type[int] | None:
    """Of jaxtyping's `Float` alone, without a shape, the Python numbers that it is for; None of anything else."""
    if not isinstance(annotation, type) or not hasattr(annotation, "dtypes") or hasattr(annotation, "dim_str"):
        return None
    if str(annotation.__module__).partition(".")[0] != "jaxtyping":
        return None
    return int if annotation.__name__.startswith(("Int", "UInt")) else float


def is_array_type(annotation: object) -> bool:
    """Whether an annotation is an array type, or holds one."""
    if array_type(annotation) is not None:
        return True
    return any(is_array_type(a) for a in typing.get_args(annotation) if isinstance(a, type) or typing.get_args(a))


def free_names(specs: Iterable[str]) -> list[str]:
    """The names that stand in the specs, variadic ones with the number of their axis."""
    names: dict[str, None] = {}
    for text in specs:
        spec: Spec = parse_spec(text)
        variadic = set(spec.variadic_names())
        for name in spec.names():
            if "." not in name and "(" not in name and "[" not in name:
                names.update(dict.fromkeys([f"{name}{i}" for i in range(3)] if name in variadic else [name]))
    return list(names)
