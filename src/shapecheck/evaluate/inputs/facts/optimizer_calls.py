"""Whether a parameter is an optimizer, or its state, as a function uses it: `updates, state = tx.update(g, state)`.

Optax has the protocol, https://optax.readthedocs.io/en/latest/api/transformations.html#optax.GradientTransformation.
A filter may have an `update(mean, observed)` as well: a name has to say that it is an optimizer, its state, or that it
is given gradients. Only source is read.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable
from typing import Literal

from shapecheck.evaluate.inputs.facts.handed_parts import FunctionParts, function_parts
from shapecheck.evaluate.inputs.facts.parameter_facts import is_variable
from shapecheck.model.parameter_parts import Part, parameter_names

Role = Literal["optimizer", "state", ""]

_DEPTH = 3  # functions that hand it on to each other
_OPTIMIZER = re.compile(r"(?:^|_)(?:opt|optim|optimi[sz]er|tx|gradient_transform\w*)\d?$")
_GRADIENTS = re.compile(r"(?:^|_)(?:g|dparams|updates?|grads?|gradients?)(?:$|_)")
_STATE = re.compile(r"(?:^|_)(?:opt|optim|optimi[sz]er|tx)_?(?:\w+_)?states?$|^states?_opt$")


def optimizer_role(function: Callable[..., object], parameter: str, depth: int = _DEPTH) -> Role:
    """What a parameter is to the optimizer that a function takes as another of its parameters."""
    found = function_parts(function)
    if found is None:
        return ""
    updates = _updates(found)
    for optimizer, state in updates:
        if parameter == optimizer:
            return "optimizer"
        if is_variable(state, parameter):
            return "state"
    for inner, name in found.receivers(Part(parameter)) if depth else ():
        if role := optimizer_role(inner, name, depth - 1):
            return role
    return "state" if _STATE.search(parameter) and updates else ""


@functools.cache
def _updates(found: FunctionParts) -> tuple[tuple[str, ast.expr], ...]:
    """The parameters that are asked for updates and their next state, each with what it is given as its state."""
    parameters = set(parameter_names(found.tree))
    updates: list[tuple[str, ast.expr]] = []
    for node in ast.walk(found.tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        call, target = node.value, node.targets[0]
        function = call.func
        if (
            isinstance(target, ast.Tuple)
            and len(target.elts) == 2
            and isinstance(function, ast.Attribute)
            and function.attr == "update"
            and len(call.args) > 1
            and isinstance(function.value, ast.Name)
            and function.value.id in parameters
            and _says_so(function.value.id, *call.args[:2])
        ):
            updates.append((function.value.id, call.args[1]))
    return tuple(updates)


def _says_so(optimizer: str, gradients: ast.expr, state: ast.expr) -> bool:
    """Whether one of the three has a name by which such things are called."""
    named = [(_OPTIMIZER, optimizer)]
    named += [(pattern, ast.unparse(each)) for pattern, each in ((_GRADIENTS, gradients), (_STATE, state))]
    return any(pattern.search(name.rpartition(".")[2]) for pattern, name in named)
