"""What comments and docstrings say of the parameters of a function, and of the fields of a class."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import CodeType

from shapecheck.evaluate.inputs.facts.signature_facts import Descriptions
from shapecheck.evaluate.probes.attribute_access import underlying_function
from shapecheck.evaluate.probes.probe_importer import PlanImporter
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.model import DocstringHint, FunctionKey, InferredParameter
from shapecheck.worker.messages.plans import UNSAID, ModulePlan, ParameterSpec, ShapeOfName


class ParameterSpecs:
    """Looks up, by the object itself, what the plans have of the source. `plans` are by path."""

    def __init__(self, importer: PlanImporter, recorder: Recorder, plans: Mapping[str, ModulePlan]) -> None:
        self._importer, self._recorder, self._plans = importer, recorder, plans

    def __call__(self, what: object) -> Descriptions:
        """The descriptions of a function's parameters, or of those of a class that its fields name."""
        found = self._of_class(what) if isinstance(what, type) else self.scope_of(what)
        if found is None:
            return {}
        path, scope = found
        annotated = _annotation_names(what)
        result: dict[str, ParameterSpec] = {}
        for description in self._plans[path].described:
            unsaid = description.spec == UNSAID and description.vague and description.parameter in annotated
            if description.scope != scope or unsaid:
                continue
            first = result.setdefault(description.parameter, description)
            if first.alternative and description is not first:
                others, at_times = (*first.others, description.spec), (*first.at_times, *description.at_times)
                result[description.parameter] = replace(first, others=others, at_times=at_times)
            elif not (description is first or description.alternative or description.vague):
                result[description.parameter] = replace(first, also=(*first.also, description.spec))
        return result

    def hints(self, what: object) -> Mapping[str, DocstringHint]:
        """What docstrings say of the parameters of a function, or of a class's constructor, beside their shapes."""
        found = self.scope_of(inspect.getattr_static(what, "__init__") if isinstance(what, type) else what)
        if found is None:
            return {}
        path, scope = found
        hints: dict[str, DocstringHint] = {}
        for each in self._plans[path].hints:
            if each.scope == scope:
                earlier = hints.get(each.parameter, each)
                axes = earlier.axes if each.axes is None else each.axes
                texts = earlier.texts or each.texts
                hints[each.parameter] = replace(each, axes=axes, type=earlier.type or each.type, texts=texts)
        return hints

    def inferred_parameters(self, function: object) -> Mapping[str, InferredParameter]:
        """What the claims in a function say that its parameters are, and parts of them, as far as they say it."""
        found = self.scope_of(function)
        if found is None:
            return {}
        path, scope = found
        return {each.parameter: each for each in self._plans[path].inferred if each.scope == scope}

    def elsewhere(self, function: object) -> Mapping[str, tuple[ShapeOfName, ...]]:
        """The shapes that claims outside of a function give to what is called as a parameter of it may be.

        Those of parameters and fields count first.
        """
        found = self.scope_of(function)
        if found is None:
            return {}
        plan, scope = self._plans[found[0]], found[1]
        own = self._inside(plan, scope)
        by_name: dict[str, list[ShapeOfName]] = {}
        for each in plan.named:
            if each.scope not in own:
                by_name.setdefault(each.name, []).append(each)
        result: dict[str, tuple[ShapeOfName, ...]] = {}
        for name, shapes in by_name.items():
            by_spec: dict[str, ShapeOfName] = {}
            for each in [each for each in shapes if each.of_parameter] or shapes:
                first = by_spec.setdefault(each.spec, each)
                by_spec[each.spec] = first if first.dtype == each.dtype else replace(first, dtype="")
            result[name] = tuple(by_spec.values())
        return result

    @staticmethod
    def _inside(plan: ModulePlan, scope: int) -> set[int]:
        """A scope, and those inside of it."""
        inside = {scope}
        for each in plan.scopes:  # parents stand before what is inside of them
            if each.parent in inside:
                inside.add(each.index)
        return inside

    def claimed_names(self, function: object) -> tuple[frozenset[str], ...]:
        """The names that each claim uses of a function, of those inside of it, and of its class."""
        found = self.scope_of(function)
        if found is None:
            return ()
        plan, scope = self._plans[found[0]], found[1]
        parent = plan.scopes[scope].parent
        inside = self._inside(plan, scope)
        if parent is not None and plan.scopes[parent].kind == "class":
            inside.add(parent)
        return tuple(frozenset(names) for index, names in plan.names if index in inside)

    def scope_of(self, function: object) -> FunctionKey | None:
        """The path and the planned scope that a function object comes from."""
        inner = underlying_function(function)
        code = getattr(inner, "__code__", None)
        if not isinstance(code, CodeType):
            return None
        path = self._recorder.paths.get(code.co_filename)
        return self._scope(path, "function", getattr(inner, "__qualname__", "")) if path is not None else None

    def _of_class(self, cls: type) -> FunctionKey | None:
        modules = ((path, self._importer.loaded.get(plan.file)) for path, plan in self._plans.items())
        # A module may have no name any more: its code may have removed that, or all that it had.
        path = next((path for path, module in modules if getattr(module, "__name__", None) == cls.__module__), None)
        return self._scope(path, "class", cls.__qualname__) if path is not None else None

    def _scope(self, path: str, kind: str, qualname: str) -> FunctionKey | None:
        name = qualname.replace(".<locals>", "")
        for scope in self._plans[path].scopes if path in self._plans else ():
            if scope.kind == kind and scope.qualname.replace(".<locals>", "") == name:
                return path, scope.index
        return None


def _annotation_names(function: object) -> Collection[str]:
    """The names of the parameters that have an annotation."""
    if not callable(function):
        return ()
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError, NameError):
        return ()
    return {each.name for each in parameters if each.annotation is not each.empty}
