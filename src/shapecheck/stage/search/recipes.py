"""How each kind of entry is run: models, functions and methods, examples written by the user."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax

from shapecheck.shapes import AnyDims, parse_spec
from shapecheck.stage.limits import TimeLimitError
from shapecheck.stage.observe.recorder import Kept, Recorder
from shapecheck.stage.observe.values import is_array
from shapecheck.stage.protocol import ConfiguredExample, Described
from shapecheck.stage.search import abstract
from shapecheck.stage.search.annotations import annotation_of, is_plain_array
from shapecheck.stage.search.deferred import Deferred
from shapecheck.stage.search.entries import module_class, nearest
from shapecheck.stage.search.examples import (
    ExampleError,
    Shape,
    check_fit,
    check_names,
    placeholders,
    public_names,
    read_argument,
    shapes_in,
)
from shapecheck.stage.search.failures import describe_error, is_own
from shapecheck.stage.search.sizes import CONSTRUCTOR_VARIANT, Assignment, free_names
from shapecheck.stage.search.synthesis import CONSTRUCTIONS, CannotSynthesiseError, Synthesis
from shapecheck.stage.search.trials import Prepared, Recipe, Trial

Descriptions = Mapping[str, Described]


class Kitchen:
    """Makes recipes. `pinned` are sizes from the configuration; `described` tells what comments say of parameters."""

    def __init__(
        self,
        recorder: Recorder,
        pinned: Mapping[str, int],
        described: Callable[[Any], Descriptions],
        subclasses: Callable[[type], Sequence[type]],
    ) -> None:
        self.recorder, self.pinned, self.described, self.subclasses = recorder, pinned, described, subclasses
        self._models: dict[tuple[type, int], tuple[Any, dict[str, int], Kept]] = {}
        self._made: dict[tuple[type, int], Synthesis] = {}

    def model(self, cls: type) -> Recipe:
        """Construct `cls` with synthesised arguments and call it as its parameters are described."""
        return self.method(cls, cls.__call__)

    def method(self, cls: type, function: Any) -> Recipe:
        """Construct `cls`, and call its method `function`."""
        function = _bare(function)
        if getattr(function, "__isabstractmethod__", False):
            raise CannotSynthesiseError(f"{function.__qualname__} is abstract")
        if inspect.isabstract(cls):
            cls = next(iter(self.subclasses(cls)), cls)
        return self._call(_annotated_original(cls, function), self._method(function), cls)

    def function(self, function: Any) -> Recipe:
        """Call a plain function (or static method) alone."""
        function = _bare(function)
        return self._call(function, function, None)

    def example(self, function: Callable[[], Any]) -> Recipe:
        """Evaluate a function of the user's that returns `(callable, *args)`."""
        found = placeholders(function)
        specs = [spec for _, spec, _ in found]

        def prepare(trial: Trial) -> Prepared:
            assignment = self._assignment(trial, {}, specs)
            arrays = {str(i): assignment.array(spec, dtype, "") for i, spec, dtype in found}

            def call(given: Mapping[str, Any]) -> None:
                target, *args = function()
                self.recorder.stages = dict(abstract.stage_paths(target, module_class()))
                target(*(given.get(str(i), a) for i, a in enumerate(args)))

            return Prepared(lambda: abstract.run(call, arrays), assignment.chosen())

        return Recipe(prepare, symbolic=bool(specs), ranks=_ranks(specs))

    def configured(self, example: ConfiguredExample, target: Any) -> Recipe:
        """A `[[tool.shapecheck.example]]` table, applied to the object that its `call` names."""
        function = target
        known: dict[str, int] = dict(self.pinned)
        first: tuple[Any, ...] = ()
        built = Kept()
        if example.init is not None and not isinstance(target, type):
            raise ExampleError(f"init is for classes, and {example.call!r} names none")
        if isinstance(target, type):
            check_names(target, example.init or {})
            start = len(self.recorder.calls)
            instance, chosen = self._given(target, example.init or {})
            built = self.recorder.since(start)
            known = {**chosen, **known}
            name = example.method or "__call__"
            function = getattr(target, name, None)
            if function is None:
                raise ExampleError(f"{target.__name__} has no method {name!r}{nearest(name, public_names(target))}")
            first = (instance,)
        arguments = [read_argument(a) for a in example.args]
        named = {k: read_argument(v) for k, v in example.kwargs.items()}
        specs = [shape.spec for shape in shapes_in([arguments, named])]
        made = {"state": None} if first and "state" in inspect.signature(function).parameters else {}
        check_fit(function, [*first, *arguments], {**made, **named})
        invoke = self._method(function) if first else function

        def prepare(trial: Trial) -> Prepared:
            assignment = self._assignment(trial, known, specs)
            self.recorder.again(built)

            def make(leaf: Any) -> Any:
                return assignment.array(leaf.spec, leaf.dtype, "") if isinstance(leaf, Shape) else leaf

            args, kwargs = jax.tree_util.tree_map(make, (arguments, named))
            return Prepared(lambda: abstract.run(invoke, *first, *args, **kwargs), assignment.chosen())

        return Recipe(prepare, symbolic=bool(specs), ranks=_ranks(specs))

    def construct(self, cls: type) -> Recipe:
        """Construct `cls`, for what its constructor shows."""

        def prepare(trial: Trial) -> Prepared:
            deferred, synthesis = self._constructor(cls, {}, trial.construction)
            call = functools.partial(abstract.run, lambda instance: None, deferred)
            return Prepared(call, guessed=synthesis.guessed, made_up=tuple(sorted(synthesis.made_up)))

        return Recipe(prepare, symbolic=False, certain=False, constructions=CONSTRUCTIONS)

    def instance(self, cls: type, construction: int) -> tuple[Any, dict[str, int]]:
        """An abstract instance of `cls`, and the integers known of it. What its construction showed is kept."""
        key = (cls, construction)
        if key not in self._models:
            start = len(self.recorder.calls)
            model, known = self._construct(cls, {}, construction)
            self._models[key] = model, known, self.recorder.since(start)
        else:
            self.recorder.again(self._models[key][2])
        return self._models[key][:2]

    def _given(self, cls: type, init: Mapping[str, Any]) -> tuple[Any, dict[str, int]]:
        """An abstract instance with the arguments that the user gave, the others made up."""
        problem: CannotSynthesiseError | None = None
        for construction in CONSTRUCTIONS:
            try:
                return self._construct(cls, init, construction)
            except CannotSynthesiseError as error:
                problem = problem or error
        raise ExampleError(str(problem))

    def _construct(self, cls: type, init: Mapping[str, Any], construction: int) -> tuple[Any, dict[str, int]]:
        deferred, synthesis = self._constructor(cls, init, construction)
        try:
            model = abstract.build(deferred)
        except TimeLimitError:
            raise
        except BaseException as error:  # the user's constructor may raise anything
            if is_own(error):
                raise
            text = describe_error(error)
            raise CannotSynthesiseError(f"constructing {cls.__name__} with made-up arguments raised {text}") from None
        self._made[cls, construction] = synthesis
        return model, {**synthesis.kept, **synthesis.chosen, **integers_of(model), **_onlyintegers_of(init)}

    def _constructor(self, cls: type, init: Mapping[str, Any], construction: int) -> tuple[Deferred, Synthesis]:
        if inspect.isabstract(cls):
            raise CannotSynthesiseError(f"{cls.__name__} is abstract")
        assignment = Assignment("sized", self.pinned, _specs(cls, {}), variant=CONSTRUCTOR_VARIANT)
        synthesis = Synthesis(assignment, variant=construction, pinned=self.pinned, subclasses=self.subclasses)
        args, kwargs = synthesis.arguments(cls, {}, init, constructing=True)
        return Deferred(cls, args, kwargs), synthesis

    def _method(self, function: Any) -> Callable[..., None]:
        """A call of a method with its model as first argument: stages get their paths, states are made."""

        def invoke(model: Any, *args: Any, **kwargs: Any) -> None:
            self.recorder.stages = dict(abstract.stage_paths(model, module_class()))
            given = _with_state(function, model, kwargs)
            function(model, *args, **given)

        return invoke

    def _call(self, function: Any, invoke: Any, cls: type | None) -> Recipe:
        described = self.described(function)
        specs = _specs(function, described)
        vague = any(map(_says_nothing, specs))
        constants = _constants(function, specs, [d.spec for d in described.values()])

        def prepare(trial: Trial) -> Prepared:
            model, known = self.instance(cls, trial.construction) if cls is not None else (None, {})
            first = () if cls is None else (model,)
            assignment = self._assignment(trial, {**constants, **known, **self.pinned}, specs)
            synthesis = Synthesis(assignment, pinned=self.pinned, subclasses=self.subclasses)
            synthesis.chosen.update(known)
            given = {"state": None} if first and _wants_state(function, model) else {}
            args, kwargs = synthesis.arguments(function, described, given, skip=len(first))
            sizes = tuple(dict.fromkeys(v for v in known.values() if v > 2))
            call = functools.partial(abstract.run, invoke, *first, *args, **kwargs)
            made = [synthesis] if cls is None else [synthesis, self._made[cls, trial.construction]]
            told = tuple((n, str(known[n])) for n in free_names(specs) if n in known)
            if trial.construction != 0:  # defaults may be equal by chance
                told = tuple((n, size) for n, size in told if list(known.values()).count(int(size)) == 1)
            loose = {size for s in made for size in s.made_up} - assignment.fixed()
            return Prepared(
                call,
                assignment.chosen(),
                sizes,
                any(s.guessed for s in made),
                assignment.guessed_dtype,
                tuple(sorted(loose)),
                assignment.shared(made[-1].assignment) if cls is not None else (),
                told,
            )

        return Recipe(
            prepare,
            relations=cls is None,
            tied=not free_names(specs) and not vague,
            certain=not any(d.vague for d in described.values()) and not vague,
            constructions=(0,) if cls is None else CONSTRUCTIONS,
            ranks=_ranks(specs),
            apart=tuple(frozenset(parse_spec(s).free_names()) for s in _specs(function, {})),
            described_apart=tuple(frozenset(parse_spec(d.spec).free_names()) for d in described.values()),
        )

    def _assignment(self, trial: Trial, known: Mapping[str, int], specs: Sequence[str]) -> Assignment:
        return Assignment(trial.mode, known, specs, trial.substitution, trial.variant, trial.rank)


def _annotated_original(cls: type, function: Any) -> Any:
    """The method itself; or, if it has no annotations, the one it overrides that has them for the same parameters."""
    parameters = list(inspect.signature(function).parameters)
    if not getattr(function, "__annotations__", {}):
        for base in cls.__mro__:
            original = getattr(base, getattr(function, "__name__", ""), None)
            if (
                inspect.isfunction(original)
                and original.__annotations__
                and list(inspect.signature(original).parameters) == parameters
            ):
                return original
    return function


def _bare(function: Any) -> Any:
    """The function inside the decorators of JAX and Equinox: under `vmap`, its annotations speak of one example."""
    while hasattr(function, "__wrapped__"):
        module = getattr(function, "__globals__", {}).get("__name__", type(function).__module__)
        if str(module).split(".", 1)[0] not in ("jax", "jaxlib", "equinox"):
            break
        function = function.__wrapped__
    return function


def _ranks(specs: Sequence[str]) -> tuple[int, ...]:
    """How many axes to try for variadic dims."""
    return (1, 2, 0, 3) if any(parse_spec(s).rank() is None for s in specs) else (1,)


def _specs(function: Any, described: Descriptions) -> list[str]:
    """The spec texts that the parameters' annotations and descriptions hold."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return [d.spec for d in described.values()]
    specs = [described[name].spec for name in parameters if name in described]
    for name, parameter in parameters.items():
        annotation = annotation_of(function, name, parameter.annotation)
        specs += _annotated(annotation)
        if name not in described and parameter.default is parameter.empty and is_plain_array(annotation):
            specs.append(f"*{name}")
    return specs


def _says_nothing(text: str) -> bool:
    """Whether a spec is `...` alone: how many axes there are to be is anybody's guess."""
    dims = parse_spec(text).dims
    return len(dims) == 1 and isinstance(dims[0], AnyDims)


def _constants(function: Any, specs: Sequence[str], described: Sequence[str]) -> dict[str, int]:
    """The module's integers that the specs mean: any name of a comment, and names inside expressions of annotations.

    A plain name of an annotation is no variable, whatever the module holds under that name.
    """
    module = getattr(inspect.unwrap(function), "__globals__", {})
    plain = {name for text in specs if text not in described for name in parse_spec(text).free_names()}
    return {n: module[n] for n in free_names(specs) if n not in plain and type(module.get(n)) is int}


def _annotated(annotation: Any) -> Iterator[str]:
    text = getattr(annotation, "dim_str", None)
    if isinstance(text, str):
        yield text
    for argument in getattr(annotation, "__args__", ()) or ():
        yield from _annotated(argument)
    leaf = getattr(annotation, "leaftype", None)
    if leaf is not None:
        yield from _annotated(leaf)


def integers_of(model: Any) -> dict[str, int]:
    """The integer fields of an instance, and those of its configs."""
    found: dict[str, int] = {}
    for name, value in getattr(model, "__dict__", {}).items():
        if type(value) is int:
            found[name] = value
        elif not is_array(value) and name.lstrip("_").endswith(("config", "cfg", "args", "hparams")):
            found = {**{k: v for k, v in getattr(value, "__dict__", {}).items() if type(v) is int}, **found}
    return found


def _onlyintegers_of(init: Mapping[str, Any]) -> dict[str, int]:
    return {k: v for k, v in init.items() if type(v) is int}


def _wants_state(function: Any, model: Any) -> bool:
    equinox = sys.modules.get("equinox")
    if equinox is None or "state" not in inspect.signature(function).parameters:
        return False
    index: type = equinox.nn.StateIndex
    leaves = jax.tree_util.tree_leaves(model, is_leaf=lambda x: isinstance(x, index))
    return any(isinstance(leaf, index) for leaf in leaves)


def _with_state(function: Any, model: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """`state` for a stateful Equinox model, made inside the trace."""
    if kwargs.get("state") is None and _wants_state(function, model):
        equinox: Any = sys.modules["equinox"]
        return {**kwargs, "state": equinox.nn.State(model)}
    return kwargs
