"""The part of a session that writes the call of a target down, with sizes that can be chosen."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace

from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.inputs.synthesis.call_builder import CallBuilder
from shapecheck.evaluate.inputs.synthesis.call_source import CallSource, UnwritableError
from shapecheck.evaluate.inputs.synthesis.construct_models import Models
from shapecheck.evaluate.inputs.synthesis.made_integers import CONSTRUCTIONS
from shapecheck.evaluate.inputs.synthesis.synthesise_arguments import SUPPLIED
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.abstract_call import LazyCall
from shapecheck.evaluate.inputs.trials.size_assignment import InventedSizes
from shapecheck.evaluate.inputs.trials.trial import CallSpec, Trial
from shapecheck.evaluate.probes.recorder import Recorder
from shapecheck.evaluate.search.branches import SwitchValue
from shapecheck.evaluate.session.target_calls import call_spec
from shapecheck.evaluate.session.target_context import USER_ERRORS, TargetContext, target
from shapecheck.worker.messages.plans import ConfiguredExample
from shapecheck.worker.messages.target_messages import WrittenCall


class CallSession:
    """Writes calls of what is named, as `shapecheck template` finds their arguments."""

    def __init__(self, context: TargetContext) -> None:
        self._context = context

    def write(
        self,
        *,
        given: ConfiguredExample,
        seconds: float,
        sizes: Mapping[str, int],
        untied: bool,
        switches: Mapping[str, str],
    ) -> WrittenCall:
        """The call of what `given` names, as lines of Python; or why there is none.

        Its axes have the `sizes` given by name, and others all different ones; `untied` also where the code does not
        run so. The `switches` are set, as a finding has them.
        """
        made, recorder = InventedSizes(), self._context.recorder
        builder = _CallNotes(recorder, self._context.models(made, sizes=sizes, constructions=CONSTRUCTIONS))
        try:
            called, owner = target(given.call, self._context.importer)
            chosen = _with_switches(builder, called, owner, switches) if switches else None
            chosen = chosen or call_spec(builder, called, replace(given, fill=True), owner)
            trial = self._trial(chosen, given.call, seconds, untied=untied)
            bound_call = chosen.prepare(trial)
            with recorder.pause():
                builder.write_only = True
                bound_call.call()
            function = chosen.signature.function
            if builder.latest is None or function is None:
                return WrittenCall(error="it is not called by its name")
            source = CallSource(builder.construction)
            args, kwargs = builder.latest
            is_method = _is_method(function, called, owner)
            model, rest = (args[0], args[1:]) if is_method else (None, args)
            call = source.call(function, model, rest, kwargs)
        except (*USER_ERRORS, UnwritableError) as error:
            return WrittenCall(error=str(error))
        free = {name: int(text) for name, text in bound_call.chosen if text.isdigit() and name.isidentifier()}
        free = {name: size for name, size in free.items() if name not in dict(trial.substitution.ties)}
        return WrittenCall(
            imports=tuple((module, tuple(names)) for module, names in source.modules.items()),
            lines=tuple(source.lines),
            call=call,
            sizes={**free, **{name: size for name, size in sizes.items() if name in made.used}},
        )

    def _trial(self, chosen: CallSpec, call: str, seconds: float, *, untied: bool) -> Trial:
        """The sizes with which it runs; all different, if it is `untied` or runs with none."""
        found = None if untied else self._context.search(call, chosen, seconds).numbers()
        if found is not None:
            return found
        problem: CannotSynthesiseError | None = None
        for construction in chosen.constructions:
            trial = Trial(mode="sized", construction=construction)
            try:
                chosen.prepare(trial)
            except CannotSynthesiseError as error:
                problem = problem or error
            else:
                return trial
        raise problem or CannotSynthesiseError("no arguments can be made")


def _with_switches(builder: CallBuilder, called: object, owner: object, switches: Mapping[str, str]) -> CallSpec | None:
    """The call of a function or a method with switches set; None of anything else."""
    settings = [SwitchValue(name, _switch_value(text)) for name, text in switches.items()]
    init = {name: value for each in settings for name, value in each.init.items()}
    arguments = {name: value for each in settings for name, value in each.call_arguments.items()}
    if isinstance(called, type):
        function = getattr(called, "__call__", None)  # noqa: B004 - the method that an instance is called by
        return builder.method(called, function, init, arguments) if inspect.isfunction(function) else None
    if not inspect.isfunction(called):
        return None
    return (
        builder.method(owner, called, init, arguments)
        if isinstance(owner, type)
        else builder.function(called, arguments)
    )


def _switch_value(text: str) -> object:
    """What a switch was set to, as a finding has it. Raises ExampleError for what cannot be written alone."""
    if text == "given":
        return SUPPLIED
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise ExampleError(f"{text} cannot be given in a call that stands alone") from None


class _CallNotes(CallBuilder):
    """Notes with what a call is made, and how its models were constructed."""

    def __init__(self, recorder: Recorder, models: Models) -> None:
        super().__init__(recorder, models)
        self.latest: tuple[tuple[object, ...], dict[str, object]] | None = None
        self.write_only = False
        self._constructed: dict[int, tuple[object, LazyCall]] = {}
        build = models.build

        def build_and_note(call: LazyCall) -> object:
            model = build(call)
            self._constructed[id(model)] = model, call
            return model

        models.build = build_and_note

    def construction(self, model: object) -> LazyCall | None:
        """The call that made this very model."""
        found = self._constructed.get(id(model))
        return found[1] if found is not None else None

    def run_abstractly(self, function: Callable[..., object], /, *args: object, **kwargs: object) -> None:
        """Note the arguments, and call the function only where that is wanted."""
        self.latest = args, kwargs
        if not self.write_only:
            super().run_abstractly(function, *args, **kwargs)


def _is_method(function: object, called: object, owner: object) -> bool:
    """Whether a model is the first argument of what is called."""
    if isinstance(called, type):
        return True
    return isinstance(owner, type) and getattr(called, "__name__", "") == getattr(function, "__name__", None)
