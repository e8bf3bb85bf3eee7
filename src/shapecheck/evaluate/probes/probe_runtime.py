"""The handle that an instrumented module knows as `__shapecheck__`: what its probes call."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, GeneratorType
from typing import Any

import jax

from shapecheck.evaluate.framework_protocol import loaded_frameworks, packages
from shapecheck.evaluate.own_errors import HANDLE, raise_own
from shapecheck.evaluate.probes.attribute_access import UNREADABLE, class_names, own_names, read_attribute
from shapecheck.evaluate.probes.constructor_arguments import Construction
from shapecheck.evaluate.probes.declared_methods import DeclaredMethods
from shapecheck.evaluate.probes.describe_value import describe, is_array, is_size
from shapecheck.evaluate.probes.later_values import replace_functions, watch_items
from shapecheck.evaluate.probes.recorder import OpenCall, Recorder
from shapecheck.evaluate.probes.tracer_origin import FormattedTracer, captured_value, describe_type, traced_by
from shapecheck.evaluate.probes.visible_sizes import sizes_among, visible
from shapecheck.evaluate.probes.vmap_axes import VmapFrames
from shapecheck.model import NamedSize, Observation, OtherValue, Scope, Site, TreeValue

_ITEM_LIMIT = 64
_OF_PYTREES = frozenset({"tree_flatten", "tree_flatten_with_keys", "tree_unflatten"})  # which JAX calls
_CALL_LIMIT = 20_000  # calls kept of one evaluation; beyond it a Python loop repeats itself


class ModuleProbe:
    """What the probes of one module call while the user's code runs.

    A module may share its variables with other code, as the cells of a notebook do. Then claims mean only those that
    are `mentioned` in its own code: what another cell has left behind is none of its business.
    """

    def __init__(
        self,
        recorder: Recorder,
        path: str,
        scopes: Sequence[Scope],
        sites: Sequence[Site],
        mentioned: frozenset[str] | None = None,
    ) -> None:
        self.mentioned = mentioned
        self.imported: frozenset[str] | None = None  # names of the module itself, while its program sets more
        self.recorder, self.path, self.scopes, self.sites = recorder, path, scopes, sites
        self.surroundings = VmapFrames()
        self.parameters: dict[int, list[Site]] = {}
        self.returns: dict[int, Site] = {}
        self.field_sites: dict[int, list[Site]] = {}
        self.unset_fields: set[int] = set()  # sites of those that some instance did not have when it was constructed
        self._claimed = {site.scope for site in sites if site.kind in ("param", "return", "called", "yielded")}
        self._methods = {s.index for s in scopes if s.parameters and s.parent and scopes[s.parent].kind == "class"}
        self._of_pytrees = {each.index for each in scopes if each.qualname.rpartition(".")[2] in _OF_PYTREES}
        self._declared = DeclaredMethods(scopes, _probe_of)
        for site in sites:
            if site.kind == "param":
                self.parameters.setdefault(site.scope, []).append(site)
            elif site.kind == "return":
                self.returns[site.scope] = site
            elif scopes[site.scope].kind == "class":
                self.field_sites.setdefault(site.scope, []).append(site)

    def enter(self, scope: int, outer: OpenCall | None) -> OpenCall:
        """Open a call of `scope` and observe its parameters."""
        frame = sys._getframe(1)
        # JAX puts whatever it likes into a pytree that it builds, such as the stacked leaves of a `vmap`.
        by_jax = scope in self._of_pytrees and _is_rebuilt(frame.f_back)
        opened = self._open(scope, outer, kept=not by_jax)
        opened.caller = self.recorder.frame(frame.f_back)
        variables = frame.f_locals
        owner = self.scopes[scope].parameters[:1]
        if owner == ("self",):
            opened.stage = self.recorder.stages.get(id(variables.get("self")), "")
        for site in self.parameters.get(scope, ()):
            if site.name in variables:
                self._note(opened, site, variables[site.name], frame)
        if scope in self._methods and (first := self.scopes[scope].parameters[0]) in variables:
            opened.declared = self._open_declared(scope, variables[first], frame, opened)
        if self.recorder.on_enter is not None and self.recorder.observes:
            with self.recorder.look():
                self.recorder.on_enter(self, scope, frame)
        self.recorder.listener.on_enter(opened)
        return opened

    def fail(self, opened: OpenCall) -> None:
        """Note that a call ends with an error, the one that is handled now."""
        opened.failed = True
        error = sys.exc_info()[1]
        if error is not None:
            self.recorder.listener.on_failure(opened, error)

    def pass_own_error_on(self) -> None:
        """Raise the error that a handler of the user's handles now, if it is ours."""
        error = sys.exc_info()[1]
        if error is not None:
            raise_own(error)

    def leave(self, opened: OpenCall) -> None:
        """Note that a call is over."""
        if not opened.failed:
            self.recorder.listener.on_exit(opened)

    def touch(self, scope: int) -> None:
        """Note that a function without sites ran."""
        self.recorder.touched.add((self.path, scope))

    def value(self, opened: OpenCall | None, site: int, value: object) -> object:
        """Observe an expression's value, and pass it on."""
        if opened is not None:
            if isinstance(value, GeneratorType) and value.gi_code.co_name == "<genexpr>":
                # `q, k, v = (f(x) for x in y)`: look at what it yields, and yield that again.
                items = list(itertools.islice(value, _ITEM_LIMIT))
                return itertools.chain(self._observe(opened, self.sites[site], items, sys._getframe(1)), value)
            return self._observe(opened, self.sites[site], value, sys._getframe(1))
        return value

    def observe_text(self, opened: OpenCall | None, site: int, value: object) -> object:
        """Observe what a print is about to make text of, or what a callback has from around it, and pass it on."""
        recorder = self.recorder
        if opened is not None and recorder.observes and recorder.keeps:
            read = captured_value(value, self.sites[site].name)
            found = Observation(site, describe_type(read), traced=traced_by(read, sys._getframe(1)))
            if found not in opened.observations:
                opened.observations.append(found)
            if self.sites[site].part is not None and isinstance(value, jax.core.Tracer):
                return FormattedTracer(value)
        return value

    def observe_return(self, opened: OpenCall | None, value: object) -> object:
        """Observe what a function returns, and pass it on."""
        if opened is not None:
            return self._observe(opened, self.returns[opened.scope], value, sys._getframe(1))
        return value

    def enter_override(self, scope: int, owner: object) -> OpenCall | None:
        """Note that a method without sites ran; what it overrides, if that has claims, is observed in its place."""
        self.touch(scope)
        return self._open_declared(scope, owner, sys._getframe(1))

    def overrides_claims(self, scope: int, cls: type) -> bool:
        """Whether a method of a class overrides a declaration with claims."""
        return bool(self.scopes[scope].parameters) and self._declared.overridden_by(scope, cls) is not None

    def observe_override(self, opened: OpenCall | None, value: object) -> object:
        """Observe what a method returns as that of the declaration that it overrides, and pass it on."""
        declared = opened.declared or opened if opened is not None else None
        if (
            declared is not None
            and isinstance(probe := declared.probe, ModuleProbe)
            and probe.scopes[declared.scope].declares
        ):
            site = probe.returns.get(declared.scope)
            if site is not None:
                probe._note(declared, site, value, sys._getframe(1))
        return value

    def _open_declared(
        self, scope: int, owner: object, frame: FrameType, opened: OpenCall | None = None
    ) -> OpenCall | None:
        """Open a call of the declaration that a method of `owner` overrides, and observe its parameters.

        `opened` is the method's own call, if it has sites.
        """
        found = self._declared.overridden_by(scope, owner)
        if found is None or not self._keeps_observations():
            return None
        declared = found.probe._open(found.scope, None)
        declared.within = opened
        declared.of_its_own = "claims" if scope in self._claimed else "docstring" if found.documented else ""
        declared.caller = self.recorder.frame(frame)
        for site, name in found.parameters:
            if name in frame.f_locals:
                found.probe._note(declared, site, frame.f_locals[name], frame)
        return declared

    def observe_calls(self, opened: OpenCall | None, site: int, function: object) -> object:
        """Pass a callable on, each call of which will be observed."""
        if opened is None or not self._keeps_observations():
            return function
        return self._watch_calls(opened, site, function, self._visible_names(self.sites[site], sys._getframe(1)))

    def _watch_calls(
        self, opened: OpenCall, site: int, value: object, names: tuple[NamedSize, ...], *, of_field: bool = False
    ) -> object:
        """A callable, or what holds some, each call of which will be observed.

        One of a function's belongs to that call of the function. One `of_field` belongs to the function that calls it,
        wherever the instance was constructed.
        """

        def note(arguments: Sequence[object], result: object) -> None:
            if self._keeps_observations():
                frame = sys._getframe(2)  # behind it stands the function that was passed on
                within = self.recorder.open_call(frame) if of_field else opened
                hidden = self._hidden_axes(within, frame) if within is not None else tuple
                with self.recorder.look():
                    parts = tuple(describe(each, hidden) for each in (*arguments, result))
                keys = (*map(str, range(len(arguments))), "result")
                found = Observation(site, TreeValue("call", "call", keys, parts), names)
                self._note_later(opened, found, frame, within or opened)

        def watch(function: object) -> object:
            return self.recorder.watched.watch((self.path, site), function, note)

        return replace_functions(value, self.sites[site].inside, watch)

    def observe_items(self, opened: OpenCall | None, site: int, items: object) -> object:
        """Pass an iterator on, each item of which will be observed."""
        if opened is None or not self._keeps_observations():
            return items
        names = self._visible_names(self.sites[site], sys._getframe(1))
        return watch_items(items, lambda item: self._note_item(opened, site, item, names, sys._getframe(3)))

    def observe_yield(self, opened: OpenCall | None, site: int, value: object) -> object:
        """Observe what a generator yields, and pass it on."""
        if opened is not None and self._keeps_observations():
            frame = sys._getframe(1)
            self._note_item(opened, site, value, self._visible_names(self.sites[site], frame), frame)
        return value

    def _keeps_observations(self) -> bool:
        return self.recorder.observes and self.recorder.keeps

    def _note_item(
        self, opened: OpenCall, site: int, item: object, names: tuple[NamedSize, ...], frame: FrameType
    ) -> None:
        if self._keeps_observations():
            with self.recorder.look():
                value = describe(item, self._hidden_axes(opened, frame))
            self._note_later(opened, Observation(site, value, names), frame)

    def _note_later(
        self, opened: OpenCall, observation: Observation, frame: FrameType, within: OpenCall | None = None
    ) -> None:
        """Note what a value of a call shows later on, as a call of its own: names may mean something else each time."""
        call = self._open(opened.scope, opened)
        call.within, call.caller, call.stage = within or opened, self.recorder.frame(frame), opened.stage
        call.observations.append(observation)

    def reach(self, opened: OpenCall | None, line: int, column: int) -> None:
        """Note the path that a call has come to."""
        if opened is not None:
            opened.paths.add((line, column))

    def observe_name(self, opened: OpenCall | None, site: int) -> bool:
        """Observe a variable or attribute chain, if it has a value at this point; whether it shall have another."""
        if opened is None:
            return False
        frame = sys._getframe(1)
        first, *rest = self.sites[site].name.split(".")
        variables = frame.f_locals
        if first not in variables:
            variables = frame.f_globals
        if first not in variables:
            return False
        value = variables[first]
        for attribute in rest:
            value = read_attribute(value, attribute)
            if value is UNREADABLE:
                return False
        result = self._observe(opened, self.sites[site], value, frame)
        if result is value:
            return False
        opened.instead = result
        return True

    def pass_value(self, value: object, *probes: object) -> object:
        """The value of an expression, behind which probes have done their work."""
        return value

    def replacement(self, opened: OpenCall) -> object:
        """The value that a variable shall have in place of what was observed."""
        value, opened.instead = opened.instead, None
        return value

    def note_constructor(self, scope: int) -> None:
        """Note the sizes that a constructor has: called at its start, and at its end.

        A variable that it binds more than once means one of several sizes, and nobody can say which.
        """
        variables = sys._getframe(1).f_locals
        owner = self.scopes[scope].parameters[0]
        if owner in variables:
            changing = {name for name in self.scopes[scope].rebound if is_size(variables.get(name))}
            sizes = {name: value for name, value in sizes_among(variables).items() if name not in changing}
            construction = Construction(variables[owner], (self.path, scope), sizes)
            self.recorder.constructions.note(construction)

    def fields(self, scope: int, outer: OpenCall | None) -> Callable[[object], object]:
        """A class decorator that observes the fields of each instance when its construction ends."""

        def decorate(cls: object) -> object:
            if not isinstance(cls, type):
                return cls
            last = "" if issubclass(cls, tuple) else _ends_construction(cls)
            name = "__new__" if issubclass(cls, tuple) else last or "__init__"
            own = type.__getattribute__(cls, "__dict__")
            original = own.get(name, _check_nothing) if last else type.__getattribute__(cls, name)

            @functools.wraps(original)
            def construct(first: object, /, *args: object, **kwargs: object) -> object:
                result = original(first, *args, **kwargs)
                watched = self._fields(scope, outer, result if name == "__new__" else first, sys._getframe(1))
                return watched if name == "__new__" else result

            setattr(cls, name, construct)  # monkeypatch: subclasses, too, construct by it
            self._constants(scope, outer, cls, sys._getframe(1))
            return cls

        return decorate

    def _fields(self, scope: int, outer: OpenCall | None, instance: object, frame: FrameType) -> object:
        """Observe the fields of an instance, and give it with the callables watched that they hold."""
        if _is_rebuilt(frame):
            return instance
        opened = self._open(scope, outer)
        if not self.recorder.observes:
            return instance
        opened.caller = self.recorder.frame(frame)
        for site in self.field_sites[scope]:
            value = read_attribute(instance, site.name)
            if value is UNREADABLE:
                self.unset_fields.add(site.index)
                continue
            if site.kind == "field":
                self._note_field(opened, site, value, instance, frame)
            elif site.name in _members(instance) and self._keeps_observations():
                names = self._names_in(instance, site)
                watched = self._watch_calls(opened, site.index, value, names, of_field=True)
                instance = _with_field(instance, site.name, watched) if watched is not value else instance
        self.recorder.listener.on_exit(opened)
        return instance

    def later_fields(self, scope: int, outer: OpenCall | None, method: int) -> None:
        """Observe the fields that a method has set and no constructor does: called at the end of the method."""
        frame = sys._getframe(1).f_back
        instance = sys._getframe(1).f_locals.get(self.scopes[method].parameters[0])
        unset = [each for each in self.field_sites[scope] if each.index in self.unset_fields and each.kind == "field"]
        if frame is None or not unset or not self.recorder.observes or not self._is_instance(instance, scope):
            return
        read = ((site, read_attribute(instance, site.name)) for site in unset)
        values = [(site, value) for site, value in read if value is not UNREADABLE]
        if not values:
            return
        opened = self._open(scope, outer)
        opened.caller = self.recorder.frame(frame)
        for site, value in values:
            self._note_field(opened, site, value, instance, frame)
        self.recorder.listener.on_exit(opened)

    def _is_instance(self, instance: object, scope: int) -> bool:
        """Whether an object is one of a class of this name: a static method may be given any other."""
        return any(each.__qualname__ == self.scopes[scope].qualname for each in type(instance).__mro__)

    def _note_field(self, opened: OpenCall, site: Site, value: object, instance: object, frame: FrameType) -> None:
        """Observe a field. A record that a scan's body makes is often described as the scan gives it: stacked."""
        names = self._names_in(instance, site)
        with self.recorder.look():
            described = describe(value, self._hidden_axes(opened, frame, of_scans=True))
        opened.observations.append(Observation(site.index, described, names))

    def _names_in(self, instance: object, site: Site) -> tuple[NamedSize, ...]:
        """The integers of an instance under the names that claims of its fields use."""
        with self.recorder.look():
            return visible(site.names, {"self": instance, **_members(instance)}, {})

    def _constants(self, scope: int, outer: OpenCall | None, cls: type, frame: FrameType) -> None:
        """Observe the arrays that the class itself holds, and its instances share."""
        own = class_names(cls)
        sites = [s for s in self.field_sites[scope] if s.kind == "field" and is_array(own.get(s.name))]
        if sites:
            opened = self._open(scope, outer)
            for site in sites:
                names = visible(site.names, own, self._variables(frame)[1])
                opened.observations.append(Observation(site.index, describe(own[site.name]), names))

    def _open(self, scope: int, outer: OpenCall | None, *, kept: bool = True) -> OpenCall:
        recorder = self.recorder
        recorder.touched.add((self.path, scope))
        if outer is not None and outer.run != recorder.run and recorder.keeps:
            # The enclosing call belongs to an earlier evaluation (a factory's): take its bindings along.
            outer.run = recorder.run
            recorder.calls.append(outer)
        recorder.count += 1
        opened = OpenCall(self, scope, recorder.count, outer)
        if kept and recorder.observes and recorder.keeps and len(recorder.calls) < _CALL_LIMIT:
            recorder.calls.append(opened)
        return opened

    def _observe(self, opened: OpenCall, site: Site, value: Any, frame: FrameType) -> Any:
        """Observe a value, and give what the code goes on with."""
        if not self._note(opened, site, value, frame):
            return value
        return self.recorder.listener.on_observation(opened, site, value)

    def _note(self, opened: OpenCall, site: Site, value: object, frame: FrameType) -> bool:
        """Keep what a value is, if anything is to be observed now."""
        if not self.recorder.observes:
            return False
        with self.recorder.look():
            found = self._observation(opened, site, value, frame)
        opened.observations.append(found)
        return True

    def _observation(self, opened: OpenCall, site: Site, value: object, frame: FrameType) -> Observation:
        if site.arrays and not is_array(value):
            return Observation(site.index, OtherValue(type(value).__name__))
        names = self._visible_names(site, frame)
        return Observation(site.index, describe(value, self._hidden_axes(opened, frame)), names)

    def _visible_names(self, site: Site, frame: FrameType) -> tuple[NamedSize, ...]:
        """The integers that a frame has under the names that claims at a site use."""
        if not site.names:
            return ()
        scope, names = self.scopes[site.scope], site.names
        if site.kind == "return":  # what is said of the result means the arguments, not what they were made to be since
            names = tuple(name for name in names if name not in scope.rebound or name not in scope.parameters)
        return visible(names, *self._variables(frame), self.recorder.constructions, scope.parameters)

    def _hidden_axes(
        self, opened: OpenCall, frame: FrameType, *, of_scans: bool = False
    ) -> Callable[[], tuple[str, ...]]:
        """What tells, if it is asked, which axes of vmap no value of a call shows, and perhaps of scans."""

        def find_once() -> tuple[str, ...]:
            if opened.hidden is None:
                opened.hidden = self.surroundings.hidden_axes(frame, of_scans=of_scans)
            return opened.hidden

        return find_once

    def _variables(self, frame: FrameType) -> tuple[Mapping[str, object], Mapping[str, object]]:
        """The variables of a frame that claims may mean: its own, and those of the module."""
        if self.mentioned is not None:
            shared = {name: frame.f_globals[name] for name in self.mentioned if name in frame.f_globals}
            return shared if frame.f_locals is frame.f_globals else frame.f_locals, shared
        if self.imported is not None:
            named = self.imported.union(frame.f_code.co_names)
            return frame.f_locals, {name: value for name, value in frame.f_globals.items() if name in named}
        return frame.f_locals, frame.f_globals


def _probe_of(variables: Mapping[str, object]) -> ModuleProbe | None:
    """The probe of the module that has these variables."""
    found = variables.get(HANDLE)
    return found if isinstance(found, ModuleProbe) else None


def _members(instance: object) -> dict[str, object]:
    fields = () if (own := own_names(instance)) else read_attribute(type(instance), "_fields", ())
    return {**own, **{name: getattr(instance, name) for name in fields}}  # named tuples have no __dict__


def _ends_construction(cls: type) -> str:
    return next(filter(None, (each.ends_construction(cls) for each in loaded_frameworks())), "")


def _check_nothing(instance: object) -> None:
    """What a class does that has no check of its own instances."""


def _with_field(instance: object, name: str, value: object) -> object:
    """The instance with another value of a field: frozen or not, it is changed; a named tuple is another one then."""
    if isinstance(instance, tuple):
        replaced: object = getattr(instance, "_replace")(**{name: value})  # noqa: B009 - of named tuples alone
        return replaced
    object.__setattr__(instance, name, value)  # monkeypatch: a callable in a field is one that is watched
    return instance


def _is_rebuilt(frame: FrameType | None) -> bool:
    """Whether JAX builds the instance (unflattening a pytree), and not the user's code."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        top = module.split(".", 1)[0]
        if top in ("jax", "jaxlib"):
            return True
        # Between the constructor and its caller stand our wrapper, the metaclass or generated code, and what JAX calls.
        is_between = module == __name__ or frame.f_code.co_name in _OF_PYTREES
        if not is_between and top not in ("dataclasses", "chex", *packages()):
            return False
        frame = frame.f_back
    return False
