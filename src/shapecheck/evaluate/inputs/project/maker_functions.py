"""Functions that make what others take: `init_params(key, d_model)` for the `params` of `forward(params, x)`.

Plain JAX code keeps parameters and states in dicts and tuples, which nobody annotates. What makes them stands in the
same file mostly, and says so: it returns a dict with the keys that are looked up, or what it returns is assigned to a
variable of the parameter's name, or it is called after that, or after what uses it (`init_coupling` for
`coupling_forward`). Classes have methods that do: `initialize_carry` for the `carry` of `__call__`, `reset() -> State`
for `step(state: State)`. Here source is only read.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shapecheck.evaluate.inputs.facts.handed_arguments import without_transformation
from shapecheck.evaluate.inputs.facts.parameter_facts import is_variable
from shapecheck.evaluate.inputs.facts.runtime_annotations import MISSING, annotation_of, is_plain_array
from shapecheck.evaluate.inputs.facts.source_reads import note_module_read, note_read
from shapecheck.evaluate.parse_python import parse_python
from shapecheck.evaluate.probes.attribute_access import underlying_function, unwrap

_MOST_USERS = 12  # functions that are looked through for one parameter
_DEPTH = 4  # functions that hand a parameter on to each other
_VERBS = r"(?:init|initial|initiali[sz]e|make|create|build|new|get|random|default|empty|reset)"
_PARAMETERS = re.compile(r"(?:^|_)(?:params?|parameters|weights|variables)$")
# What is made once and handed about as it is: of a mask or a batch, each function may want another.
_HANDED_ABOUT = re.compile(
    rf"{_PARAMETERS.pattern}|(?:^|_)(?:states?|carry|cache|memory|buffer|model|net|network|cfg|config)$"
)
# Of a function's name, what does not tell what it is that is applied.
_APPLYING = frozenset(
    {"apply", "forward", "fwd", "fn", "call", "predict", "step", "loss", "update", "block", "layer", "model", "batched"}
)
_INITIAL = r"(?:init|initial|initiali[sz]e)"
_BEGINNING = r"(?:init|initial|initiali[sz]e|make|create|build|default|empty|reset|zero)"
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Maker:
    """What makes an argument: a function or class, and which part of the tuple that it gives, None for the whole.

    It is `sure` if nothing else gives all the keys that are looked up, of which there are several, or one and it is
    called after the parameter; or, of what is handed about as it is, if nothing else is assigned to the name, or called
    after it.
    """

    function: Callable[..., object]
    part: int | None = None
    sure: bool = False


def makers_of(function: Callable[..., object], parameter: str) -> Sequence[Maker]:
    """What may make the argument for a parameter of a function, the likeliest first."""
    own = underlying_function(function)
    module = sys.modules.get(str(getattr(own, "__module__", "")))
    if module is None or not isinstance(own, (types.FunctionType, type)):
        return ()
    note_module_read(module)
    source = _sources.get(module.__name__)
    if source is None or source.module is not module:
        source = _sources[module.__name__] = _ModuleSource.of_module(module)
    line = own.__code__.co_firstlineno if isinstance(own, types.FunctionType) else 0
    return tuple(source.makers(own.__name__, line, parameter))


def looks_up_keys(function: Callable[..., object], parameter: str) -> bool:
    """Whether a function looks something up in a parameter by texts: then that is no array."""
    return any(each.sure and each.part is None for each in makers_of(function, parameter))


def own_makers(cls: type, function: Callable[..., object], parameter: str) -> Sequence[Maker]:
    """The methods of a class that make what another one takes: by what they say that they give, or by their names.

    Each is called with the instance. One that takes such a thing itself only changes it.
    """
    own = unwrap(function)
    if not isinstance(own, types.FunctionType):
        return ()
    wanted = annotation_of(own, parameter, own.__annotations__.get(parameter, MISSING))
    stem = parameter.rpartition("_")[2] if _HANDED_ABOUT.search(parameter) else parameter
    by_name = re.compile(rf"_?{_BEGINNING}_(?:\w+_)?(?:{re.escape(parameter)}|{re.escape(stem)})")
    found: dict[str, Maker] = {}
    for name in dict.fromkeys(name for each in cls.__mro__ for name in vars(each)):
        if not re.match(rf"_?{_BEGINNING}(?:_|$)", name) or name == own.__name__:
            continue
        method = inspect.getattr_static(cls, name)
        inner = unwrap(method) if callable(method) else None
        if not isinstance(inner, types.FunctionType) or getattr(inner, "__isabstractmethod__", False):
            continue
        note_read(inner)
        given = annotation_of(inner, "return", inner.__annotations__.get("return", MISSING))
        takes = {
            name: annotation_of(inner, name, each.annotation)
            for name, each in inspect.signature(inner).parameters.items()
        }
        if parameter in takes or (wanted not in _SILENT and wanted in takes.values()):
            continue
        part = _part_of(given, wanted)
        if part is not None or by_name.fullmatch(name):
            found[name] = Maker(method, None if part in (None, -1) else part)
    return tuple(found.values())


def is_handed_about(parameter: str) -> bool:
    """Whether a parameter of this name is made once and handed about as it is: parameters, a state, a cache."""
    return _HANDED_ABOUT.search(parameter) is not None


def record_makers(cls: type) -> Sequence[Maker]:
    """The functions that say that they begin an instance of a class: `init_head(key, width) -> Head`.

    They stand beside the class, or in it as static and class methods do: `Head.init(key, width)`. They know what
    relations its arrays have to each other, and which parts are stacked. One that takes an instance only changes it.
    """
    module = sys.modules.get(cls.__module__)
    found: dict[str, Maker] = {}
    beside = list(vars(module).items()) if module is not None else []
    own = [(n, getattr(cls, n)) for n, each in vars(cls).items() if isinstance(each, (staticmethod, classmethod))]
    for name, function in (*own, *beside):
        begins = re.match(rf"_?{_VERBS}(?:_|$)", name) or re.search(rf"_{_INITIAL}$", name)
        plain = function.__func__ if type(function) is types.MethodType else function  # not what proxies say
        inner = unwrap(plain) if begins and callable(plain) else None
        if not isinstance(inner, types.FunctionType) or inner.__module__ != cls.__module__:
            continue
        note_read(inner)
        given = annotation_of(inner, "return", inner.__annotations__.get("return", MISSING))
        part = -1 if _is_own_class(given) and (name, function) in own else _part_of(given, cls)
        takes = [annotation_of(inner, each, raw) for each, raw in inner.__annotations__.items() if each != "return"]
        if part is not None and cls not in takes:
            found[name] = Maker(function, None if part < 0 else part)
    return tuple(found.values())


def _is_own_class(annotation: object) -> bool:
    """Whether an annotation is `Self`, of `typing` or of `typing_extensions`."""
    return getattr(annotation, "_name", None) == "Self" or getattr(annotation, "__name__", None) == "Self"


def _part_of(given: object, wanted: object) -> int | None:
    """Which part of what a function gives is annotated as `wanted`, -1 for the whole; None if no one is."""
    if wanted in _SILENT or wanted in _PLAIN or is_plain_array(wanted):
        return None
    if given == wanted:
        return -1
    parts = typing.get_args(given) if typing.get_origin(given) is tuple else ()
    return parts.index(wanted) if parts.count(wanted) == 1 else None


_SILENT: Final = (MISSING, Any, None)
_PLAIN: Final = (bool, int, float, str, tuple, list, dict)  # of which there are many

_Place = tuple[str, int]  # a name that is called, and which part of the tuple that it gives; -1 for the whole


@dataclass
class _ModuleSource:
    """One module: its functions by name, what each returns, and what is assigned to which name anywhere."""

    module: types.ModuleType
    functions: dict[str, _Function] = field(default_factory=dict)
    everywhere: list[_Function] = field(default_factory=list)
    given: dict[str, dict[int, frozenset[str]]] = field(default_factory=dict)  # keys, by part; -1 for the whole
    assigned: dict[str, list[_Place]] = field(default_factory=dict)

    @classmethod
    def of_module(cls, module: types.ModuleType) -> _ModuleSource:
        """Read a module; nothing of it where there is no source."""
        found = cls(module)
        try:
            tree = parse_python(inspect.getsource(module))
        except (OSError, TypeError, SyntaxError, ValueError, AttributeError):  # of what stands for its module
            return found
        found.functions = {each.name: each for each in tree.body if isinstance(each, _Function)}
        found.everywhere = [each for each in ast.walk(tree) if isinstance(each, _Function)]
        found.given = {name: _returned_keys(each) for name, each in found.functions.items()}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                found._note_assignment(node.targets[0], node.value)
        return found

    def _note_assignment(self, target: ast.expr, value: ast.expr) -> None:
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
            return
        used = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        parts = list(enumerate(target.elts)) if isinstance(target, ast.Tuple) else [(-1, target)]
        for part, each in parts:
            if isinstance(each, ast.Name) and each.id not in used:
                self.assigned.setdefault(each.id, []).append((value.func.id, part))

    def makers(self, function: str, line: int, parameter: str) -> Iterator[Maker]:
        """Those with the keys first, then what is assigned to the name, then what is called after it."""
        definitions = [each for each in self.everywhere if each.name == function and _first_line(each) == line]
        keys = self._keys(definitions[0], parameter, _DEPTH) if definitions else frozenset()
        same = [self._keys(each, parameter, _DEPTH) for each in self.everywhere if parameter in _parameters(each)]
        for wanted in dict.fromkeys([frozenset().union(*same), keys]):
            places = [
                (name, part) for name, parts in self.given.items() for part, given in parts.items() if wanted <= given
            ]
            fewest = min((len(self.given[name][part]) for name, part in places), default=0)
            best = [each for each in places if len(self.given[each[0]][each[1]]) == fewest]
            if wanted and best:
                named = is_handed_about(parameter) and {name for name, _ in best} <= {*self._called_after(parameter)}
                yield from self._usable(best, function, parameter, sure=named or len(wanted) > 1)
                return
        if keys:
            return  # what lacks them would not do
        if _PARAMETERS.search(parameter):
            after = [(name, -1) for name in self._called_after_users(definitions, parameter)]
            if found := list(self._usable(after, function, parameter, sure=True)):
                yield from found
                return
        assigned = list(dict.fromkeys(self.assigned.get(parameter, ())))
        is_one = is_handed_about(parameter)
        found = list(self._usable(assigned, function, parameter, sure=is_one))
        yield from found
        if not found:
            callees = [(name, -1) for name in self._without_parts(self._called_after(parameter))]
            yield from self._usable(callees, function, parameter, sure=is_one)

    def _usable(
        self, places: Sequence[_Place], function: str, parameter: str, *, sure: bool = False
    ) -> Iterator[Maker]:
        """Those of the user's functions and classes that do not want such an argument themselves.

        If there is a single one, it may be `sure`.
        """
        found = [place for place in places if self._may_make(place[0], function, parameter)]
        for name, part in found:
            yield Maker(vars(self.module)[name], None if part < 0 else part, sure and len(found) == 1)

    def _may_make(self, name: str, function: str, parameter: str) -> bool:
        value = vars(self.module).get(name)
        inner = unwrap(value) if callable(value) else None
        is_own = str(getattr(inner, "__module__", "")).partition(".")[0] == self.module.__name__.partition(".")[0]
        if not is_own or name == function or not isinstance(inner, (types.FunctionType, type)):
            return False
        code = getattr(inner, "__code__", None)
        return code is None or parameter not in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    def _called_after(self, parameter: str) -> list[str]:
        """Functions such as `init_state` for `state`; for parameters also `init` and `init_mlp_params`."""
        words = re.escape(parameter)
        patterns = [rf"_?{_VERBS}_(?:\w+_)?{words}", rf"{words}_{_VERBS}"]
        if _PARAMETERS.search(parameter):
            patterns += [rf"_?{_VERBS}(?:_\w+)?_(?:params?|parameters|weights|variables)", r"init(?:ialize)?"]
        for pattern in patterns:
            found = [name for name in self.functions if re.fullmatch(pattern, name)]
            if found:
                return found
        return self._other_initial() if _PARAMETERS.search(parameter) else []

    def _called_after_users(self, definitions: Sequence[_Function], parameter: str) -> list[str]:
        """Functions such as `init_coupling` for `coupling_forward`, or for what that one hands its parameter on to."""
        todo, seen = [(each, parameter) for each in definitions], set[str]()
        for definition, name in todo:
            if definition.name in seen or len(seen) > _MOST_USERS:
                continue
            seen.add(definition.name)
            found = [each for each in self.functions if _is_called_after(each, definition.name)]
            if found:
                return found
            todo += self._receivers(definition, name)
        return []

    def _receivers(self, definition: _Function, parameter: str) -> Iterator[tuple[_Function, str]]:
        """The functions of the module that a function hands the whole of a parameter on to, as that parameter there."""
        for node in ast.walk(definition):
            if isinstance(node, ast.Call):
                called = without_transformation(node.func)
                inner = self.functions.get(called.id) if isinstance(called, ast.Name) else None
                if inner is not None:
                    yield from ((inner, name) for name in _parameters_given(inner, node, parameter))

    def _other_initial(self) -> list[str]:
        """Functions such as `init_mlp` where no function is called `mlp`: of several the one that calls the others."""
        initial = [name for name in self.functions if re.fullmatch(rf"_?(?:{_INITIAL}_\w+|\w+_{_INITIAL})", name)]
        is_anothers = {each for each in initial for name in self.functions if _is_called_after(each, name)}
        return self._without_parts([each for each in initial if each not in is_anothers])

    def _without_parts(self, names: Sequence[str]) -> list[str]:
        """Those that none of the others calls."""
        called = {
            node.func.id
            for name in names
            for node in ast.walk(self.functions[name])
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id != name
        }
        return [name for name in names if name not in called] or list(names)

    def _keys(self, definition: _Function, parameter: str, depth: int) -> frozenset[str]:
        """The texts by which a function, and what it hands the parameter on to, looks something up in it."""
        found: set[str] = set()
        if parameter not in _parameters(definition):
            return frozenset()
        for node in ast.walk(definition):
            if isinstance(node, ast.Subscript) and is_variable(node.value, parameter):
                text = node.slice.value if isinstance(node.slice, ast.Constant) else None
                found |= {text} if isinstance(text, str) and isinstance(node.ctx, ast.Load) else set()
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and depth:
                inner = self.functions.get(node.func.id)
                for name in (
                    _parameters_given(inner, node, parameter) if inner is not None and inner is not definition else ()
                ):
                    found |= self._keys(inner, name, depth - 1) if inner is not None else set()
        return frozenset(found)


_sources: dict[str, _ModuleSource] = {}


def _is_called_after(maker: str, user: str) -> bool:
    """Whether a function is called as what makes another's parameters: `init_coupling`, `mlp_init`, `init_nerf_params`.

    The words `forward` or `apply` of the user's name do not count.
    """
    if maker == user:
        return False
    stem = re.sub(rf"^_?{_VERBS}_|_{_INITIAL}$", "", maker)
    stem = re.sub(r"_(?:params?|parameters|weights|variables)$", "", stem)
    words = user.strip("_").split("_")
    plain = "_".join(word for word in words if word not in _APPLYING)
    return stem != maker and bool(plain) and stem in (plain, user)


def _returned_keys(definition: _Function) -> dict[int, frozenset[str]]:
    """The keys of the dicts that a function returns, written out; by part if it returns a tuple."""
    built: dict[str, set[str]] = {}
    found: dict[int, set[str]] = {}
    for node in _own_nodes(definition):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, keys = node.targets[0], _written_keys(node.value)
            if isinstance(target, ast.Name) and keys is not None:
                built.setdefault(target.id, set()).update(keys)
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                text = target.slice.value if isinstance(target.slice, ast.Constant) else None
                if isinstance(text, str) and target.value.id in built:
                    built[target.value.id].add(text)
        if isinstance(node, ast.Return) and node.value is not None:
            parts = list(enumerate(node.value.elts)) if isinstance(node.value, ast.Tuple) else [(-1, node.value)]
            for part, value in parts:
                keys = built.get(value.id) if isinstance(value, ast.Name) else _written_keys(value)
                if keys:
                    found.setdefault(part, set()).update(keys)
    return {part: frozenset(keys) for part, keys in found.items()}


def _own_nodes(definition: _Function) -> Iterator[ast.AST]:
    """All nodes of a function but those of functions inside of it, which return what is theirs."""
    todo: list[ast.AST] = list(definition.body)
    for node in todo:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            todo += ast.iter_child_nodes(node)


def _written_keys(value: ast.expr) -> set[str] | None:
    """The keys of a dict that is written out: `{"w": w}` or `dict(w=w)`; None of anything else, or of copies."""
    if isinstance(value, ast.Dict) and all(value.keys):
        return {key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    if isinstance(value, ast.Call) and is_variable(value.func, "dict") and not value.args:
        return {each.arg for each in value.keywords if each.arg is not None}
    return None


def _parameters_given(inner: _Function, call: ast.Call, name: str) -> Iterator[str]:
    """The parameters of a function that a call gives this variable for."""
    positional = [each.arg for each in (*inner.args.posonlyargs, *inner.args.args)]
    yield from (to for to, given in zip(positional, call.args, strict=False) if is_variable(given, name))
    yield from (each.arg for each in call.keywords if each.arg is not None and is_variable(each.value, name))


def _parameters(definition: _Function) -> list[str]:
    arguments = definition.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _first_line(definition: _Function) -> int:
    """The line of the function as its code object has it: that of its first decorator."""
    return min([definition.lineno, *(each.lineno for each in definition.decorator_list)])
