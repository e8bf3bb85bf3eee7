"""Where a function hands its values on to: what it calls, also a method of a model, through `vmap` and lambdas."""

from __future__ import annotations

import ast
import inspect
import types
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from shapecheck.evaluate.framework_protocol import model_classes
from shapecheck.evaluate.inputs.facts.attribute_classes import attribute_class
from shapecheck.evaluate.inputs.facts.parameter_facts import called_name, is_variable, literal_integer, named_value
from shapecheck.evaluate.inputs.facts.transformations import hands_on_arguments, is_transformation
from shapecheck.evaluate.probes.attribute_access import unwrap
from shapecheck.model.parameter_parts import parameter_names

_Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_NESTED = 3  # local functions that call each other
_APPLY = "apply"  # of models that get their variables with the call: `model.apply(params, x)`


class HandedArgument(NamedTuple):
    """An argument of a call: the function that gets it, as which of its parameters, if anybody knows.

    If that gets one element of it at a time, `mapped` is the name of the axis in front that it does not see. `call` is
    the same for all arguments of one call.
    """

    given: ast.expr
    callee: types.FunctionType | None = None
    parameter: str = ""
    mapped: str = ""
    call: tuple[int, ...] = ()


class ArgumentReader:
    """Reads the calls in a function. `owner` is the class that it is a method of, `module` the variables of its file.

    `models` are classes of its parameters, or of those of functions inside, that are known in another way.

    Called may be a function of the same file, a function inside, or a method of a class that is known: that of `self`,
    a base of it (`super()`), of an attribute of `self` or the elements of one in a loop, of a parameter's annotation,
    of what a variable is bound to just once.
    """

    def __init__(
        self,
        tree: ast.AST,
        module: Mapping[str, object],
        owner: type | None = None,
        models: Mapping[str, type] = types.MappingProxyType({}),
    ) -> None:
        self._tree, self._module, self._owner = tree, module, owner
        nodes = list(ast.walk(tree))
        bound = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        bound.update(node.name for node in nodes if isinstance(node, _Function[:2]) and node is not tree)
        inner = [name for node in nodes if node is not tree for name in parameter_names(node)]
        self._hidden = {*bound, *inner}
        self._local: dict[str, ast.AST] = {}
        self._classes: dict[str, type] = {name: cls for name, cls in models.items() if not bound[name]}
        for node in nodes:
            if isinstance(node, _Function[:2]) and node is not tree and bound[node.name] == 1:
                self._local[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._note_variable(node.targets[0].id, node.value, bound)
        own = [*parameter_names(tree)]
        self._self_name = own[0] if owner is not None and own and own[0] not in self._hidden else ""
        if owner is not None and self._self_name:
            self._classes[self._self_name] = owner
            for node in nodes:
                if isinstance(node, ast.For | ast.comprehension):
                    self._note_element(node.target, node.iter, bound)
        for each in ast.walk(tree.args) if isinstance(tree, _Function) else ():
            if isinstance(each, ast.arg) and each.annotation is not None and each.arg not in self._hidden:
                cls = self._class_called(each.annotation)
                self._classes.update({each.arg: cls} if cls is not None else {})

    def arguments(self) -> list[HandedArgument]:
        """All arguments of its calls, those of unknown ones too."""
        return [
            each._replace(call=(number, *each.call))
            for number, call in enumerate(_calls(self._tree))
            for each in self._of_call(call, _NESTED)
        ]

    def _note_variable(self, name: str, value: ast.expr, bound: Mapping[str, int]) -> None:
        if bound[name] != 1:
            return
        if isinstance(value, ast.Lambda):
            self._local[name] = value
        elif isinstance(value, ast.Call) and (cls := self._class_called(value.func)) is not None:
            self._classes[name] = cls

    def _note_element(self, target: ast.expr, sequence: ast.expr, bound: Mapping[str, int]) -> None:
        """Of `for layer in self.layers`, and of `for number, layer in enumerate(self.layers)`."""
        if isinstance(sequence, ast.Call) and called_name(sequence.func) == ("enumerate", "") and sequence.args:
            sequence = sequence.args[0]
            target = target.elts[-1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
        if isinstance(target, ast.Name) and bound[target.id] == 1:
            cls = self._class_of_attribute(sequence, is_element=True)
            self._classes.update({target.id: cls} if cls is not None else {})

    def _class_of_attribute(self, value: ast.expr, *, is_element: bool = False) -> type | None:
        if not isinstance(value, ast.Attribute) or self._owner is None or not is_variable(value.value, self._self_name):
            return None
        return attribute_class(self._owner, value.attr, is_element=is_element)

    def _of_call(self, call: ast.Call, depth: int) -> Iterator[HandedArgument]:
        function, axes = _without_transformations(call)
        starred = any(isinstance(each, ast.Starred) for each in call.args)
        given: list[tuple[ast.expr, int | None, str]] = [(each, number, "") for number, each in enumerate(call.args)]
        given += [(each.value, None, each.arg or "") for each in call.keywords]
        local = self._local_function(function)
        callee, parameters = (None, [*parameter_names(local)]) if local is not None else self._callee(function)
        mapped = _mapped_name([value for value, number, name in given if axes.of(number, name)])
        for value, number, name in given:
            is_mapped = axes.of(number, name)
            if starred or is_mapped is None:
                yield HandedArgument(value)
                continue
            parameter = name if number is None else next(iter(parameters[number : number + 1]), "")
            outer = mapped if is_mapped else ""
            if local is not None:
                yield from self._through(local, parameter, value, outer, depth)
            elif callee is not None and parameter and parameter in parameters:
                yield HandedArgument(value, callee, parameter, outer)
            else:
                yield HandedArgument(value)

    def _through(
        self, local: ast.AST, parameter: str, given: ast.expr, mapped: str, depth: int
    ) -> Iterator[HandedArgument]:
        """Where a function inside hands on the parameter that a value is given for."""
        yield HandedArgument(given)
        if not depth or not parameter:
            return
        for number, call in enumerate(_calls(local)):
            for each in self._of_call(call, depth - 1):
                is_it = isinstance(each.given, ast.Name) and each.given.id == parameter
                if is_it and each.callee is not None and not (mapped and each.mapped):
                    yield each._replace(given=given, mapped=mapped or each.mapped, call=(number, *each.call))

    def _local_function(self, function: ast.expr) -> ast.AST | None:
        if isinstance(function, ast.Lambda):
            return function
        return self._local.get(function.id) if isinstance(function, ast.Name) else None

    def _callee(self, function: ast.expr) -> tuple[types.FunctionType | None, Sequence[str]]:
        """The function that is called, and the names of what it takes by position."""
        if isinstance(function, ast.Name) and function.id not in self._hidden and function.id not in self._classes:
            inner = _plain(self._module.get(function.id))
            is_own = inner is not None and inner.__globals__ is self._module
            return (inner, [*inspect.signature(inner).parameters]) if inner is not None and is_own else (None, ())
        if isinstance(function, ast.Attribute) and (method := self._method_above(function)) is not None:
            return method, [*inspect.signature(method).parameters][1:]
        cls, name = self._class_of(function), "__call__"
        is_applied = False
        if cls is None and isinstance(function, ast.Attribute):
            cls, name = self._class_of(function.value), function.attr
            is_applied = cls is not None and name == _APPLY and issubclass(cls, model_classes())
            name = "__call__" if is_applied else name
        method = _plain(getattr(cls, name, None)) if cls is not None else None
        if method is None or isinstance(inspect.getattr_static(cls, name), (staticmethod, classmethod)):
            return None, ()
        names = [*inspect.signature(method).parameters][1:]
        return method, ["", *names] if is_applied else names  # the variables come first

    def _method_above(self, function: ast.Attribute) -> types.FunctionType | None:
        """The method of a base class that is called: `super().__init__`."""
        called = function.value.func if isinstance(function.value, ast.Call) and not function.value.args else None
        if self._owner is None or not isinstance(called, ast.Name) or called.id != "super":
            return None
        for cls in self._owner.__mro__[1:]:
            if function.attr in vars(cls):
                method = vars(cls)[function.attr]
                return None if isinstance(method, (staticmethod, classmethod)) else _plain(method)
        return None

    def _class_of(self, value: ast.expr) -> type | None:
        """The class of a value: of a variable or attribute that keeps it, or of what is constructed on the spot."""
        if isinstance(value, ast.Name):
            return self._classes.get(value.id)
        if isinstance(value, ast.Attribute):
            return self._class_of_attribute(value)
        return self._class_called(value.func) if isinstance(value, ast.Call) else None

    def _class_called(self, name: ast.expr) -> type | None:
        """The class that a name of the module stands for, which may be a text, or an attribute of another module."""
        text = ast.Name(str(name.value)) if isinstance(name, ast.Constant) else name
        is_hidden = isinstance(text, ast.Name) and text.id in self._hidden
        found = named_value(text, self._module) if not is_hidden else None
        return found if isinstance(found, type) else None


@dataclass(frozen=True)
class _MappedAxes:
    """Which arguments a `vmap` takes apart along their first axis: all, unless it has `in_axes`."""

    is_mapping: bool = False
    known: bool = True
    in_axes: ast.expr | None = None

    def of(self, number: int | None, name: str) -> bool | None:
        """Whether an argument is; None where nobody knows, or it is along another axis."""
        if not self.known:
            return None
        if not self.is_mapping or self.in_axes is None:
            return self.is_mapping
        axis = self.in_axes
        if isinstance(axis, (ast.Tuple, ast.List)):
            if number is None:
                return True  # keywords are, whatever `in_axes` says
            if number >= len(axis.elts):
                return None
            axis = axis.elts[number]
        if isinstance(axis, ast.Constant) and axis.value is None:
            return False
        return True if literal_integer(axis) == 0 else None


def without_transformation(function: ast.expr) -> ast.expr:
    """What is called, inside of transformations that hand on their arguments as they are: `jax.grad(loss)(params)`."""
    while isinstance(function, ast.Call) and function.args:
        if not hands_on_arguments(called_name(function.func)[0]):
            break
        function = function.args[0]
    return function


def called_function(call: ast.Call) -> ast.expr:
    """What a call calls in the end, inside of all transformations: `f` of `jax.vmap(jax.grad(f))(x)`."""
    return _without_transformations(call)[0]


def _without_transformations(call: ast.Call) -> tuple[ast.expr, _MappedAxes]:
    """What is called in the end, and which of the arguments it gets one element of at a time."""
    function, axes = without_transformation(call.func), _MappedAxes()
    while isinstance(function, ast.Call) and function.args and is_transformation(called_name(function.func)[0]):
        if axes.is_mapping:  # twice
            return function.args[0], _MappedAxes(known=False)
        in_axes = function.args[1] if len(function.args) > 1 else None
        in_axes = next((each.value for each in function.keywords if each.arg == "in_axes"), in_axes)
        axes = _MappedAxes(is_mapping=True, in_axes=in_axes)
        function = without_transformation(function.args[0])
    return function, axes


def _mapped_name(values: Sequence[ast.expr]) -> str:
    """What the axis is called along which values are taken apart together."""
    first = values[0] if values else None
    return f"{first.id}0" if isinstance(first, ast.Name) else "mapped0"


def _plain(function: object) -> types.FunctionType | None:
    inner = unwrap(function)
    return inner if isinstance(inner, types.FunctionType) else None


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))
