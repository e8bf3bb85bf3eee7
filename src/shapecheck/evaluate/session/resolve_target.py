"""The object that `pkg.mod:name` or `path/file.py:name` names."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from types import ModuleType

from shapecheck.evaluate.inputs.entries import nearest
from shapecheck.evaluate.inputs.failure_reasons import describe_error, is_own
from shapecheck.evaluate.inputs.user_examples import ExampleError
from shapecheck.evaluate.limits import TimeLimitError
from shapecheck.evaluate.probes.probe_importer import PlanImporter


class NameGoneError(ExampleError):
    """The module is there, and has no such name."""


def resolve_target(call: str, importer: PlanImporter, *, installed: bool = False) -> object:
    """Import the module and look the name up; with `installed`, of other modules than the planned ones too.

    Raises ExampleError for what is not there, with the nearest name that is: NameGoneError if only the name is missing.
    """
    where, _, name = call.rpartition(":")
    plan = next((p for p in importer.plans.values() if where in (p.name, p.path)), None)
    if plan is not None:
        importer.activate(plan.root)
        module = _import_for_target(where, lambda: importer.load(plan))
    elif installed:
        module = _import_for_target(where, lambda: importlib.import_module(where))
    else:
        near = nearest(where, [p.name for p in importer.plans.values()]) or ' (the form is "pkg.mod:name")'
        raise ExampleError(f"no checked file is the module {where!r}{near}")
    value: object = module
    for part in name.split("."):
        value = getattr(value, part, None)
        if value is None:
            near = nearest(part, [n for n in vars(module) if not n.startswith("_")])
            raise NameGoneError(f"{where} has no {name!r}{near}")
    return value


def target(call: str, importer: PlanImporter) -> tuple[object, object]:
    """What a target names, which may lie in an installed module, and of a method its class.

    Of a method of what a function makes it is the function, and the method's name. Else the second is None.
    """
    holder, _, method = call.rpartition(".")
    try:
        found = resolve_target(call, importer, installed=True)
    except NameGoneError:
        factory = resolve_target(holder, importer, installed=True) if ":" in holder else None
        if not inspect.isfunction(factory):
            raise
        return factory, method
    return found, resolve_target(holder, importer, installed=True) if ":" in holder else None


def _import_for_target(where: str, load: Callable[[], ModuleType]) -> ModuleType:
    try:
        return load()
    except TimeLimitError:
        raise
    except BaseException as error:  # a module body may raise anything
        if is_own(error):
            raise
        raise ExampleError(f"importing {where} raised {describe_error(error)}") from None
