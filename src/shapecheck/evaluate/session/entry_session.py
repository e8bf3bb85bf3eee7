"""The part of a session that checks: what can be evaluated in the files that were imported, and what each shows."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from shapecheck.evaluate.framework_protocol import loaded_frameworks
from shapecheck.evaluate.global_state import GlobalState
from shapecheck.evaluate.inputs.facts.own_signature import with_own_signature
from shapecheck.evaluate.inputs.facts.source_reads import noted_reads
from shapecheck.evaluate.inputs.project import entries
from shapecheck.evaluate.inputs.project.call_sites import CallingText, CallSites
from shapecheck.evaluate.inputs.project.returned_functions import maker_of, returned_functions
from shapecheck.evaluate.inputs.project.user_examples import ExampleError
from shapecheck.evaluate.inputs.synthesis.call_builder import CallBuilder
from shapecheck.evaluate.inputs.synthesis.construct_models import Models
from shapecheck.evaluate.inputs.synthesis.example_calls import configured_example, decorated_example
from shapecheck.evaluate.inputs.synthesis.retry_keys import with_keys
from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.size_assignment import UnknownSizeError
from shapecheck.evaluate.inputs.trials.trial import CallSpec
from shapecheck.evaluate.probes.recorder import Watch
from shapecheck.evaluate.probes.tolerate_concrete import Steps
from shapecheck.evaluate.search.branches import NO_STATICS, Statics, evaluate_others
from shapecheck.evaluate.search.entry_search import EntrySearch
from shapecheck.evaluate.session.parameter_specs import ParameterSpecs
from shapecheck.evaluate.session.target_context import TargetContext, resolve_target
from shapecheck.evaluate.stages.stage_memo import RepeatedCalls
from shapecheck.evaluate.suites.generalise import Generaliser
from shapecheck.evaluate.suites.run_script import run_script
from shapecheck.evaluate.suites.snippet_entries import SnippetEntries
from shapecheck.model import PRINTING, SNIPPET, Evaluation, Failure
from shapecheck.shapes import SpecError
from shapecheck.worker.messages.entry_messages import EntryList, EntryResults
from shapecheck.worker.messages.plans import UNSAID, ConfiguredExample, EntryPlan, ModulePlan
from shapecheck.worker.messages.protocol import ModuleStart, Send


class EntrySession:
    """Lists and evaluates the entries of a project; `described` is what comments say of parameters."""

    def __init__(
        self,
        context: TargetContext,
        plans: Mapping[str, ModulePlan],
        described: ParameterSpecs,
        generaliser: Generaliser,
        steps: Steps,
        global_state: GlobalState,
        send: Send,
    ) -> None:
        self._importer, self._recorder, self._settings = context.importer, context.recorder, context.settings
        self._plans, self._described, self._generaliser = plans, described, generaliser
        self._steps, self._global_state, self._send = steps, global_state, send
        models = Models(
            context.recorder,
            context.settings.sizes,
            described,
            context.subclasses,
            claimed=described.claimed_names,
            hints=described.hints,
            call_sites=CallSites(self._texts_with_calls, self._note_source),
            elsewhere=described.elsewhere,
            inferred=described.inferred_parameters,
        )
        self._builder = CallBuilder(context.recorder, models)
        settings = context.settings
        self._snippets = SnippetEntries(settings.snippets, context.importer, generaliser, steps, settings.script_limit)
        self._repeats = RepeatedCalls(context.recorder)
        self._entries: dict[str, EntryPlan] = {}
        self._classes: dict[str, type] = {}

    def list_entries(self) -> EntryList:
        """All entries of what was imported: examples, then models (wholes before parts), functions, and snippets."""
        examples: list[EntryPlan] = []
        models: list[tuple[EntryPlan, type]] = []
        functions: list[EntryPlan] = []
        returned: list[EntryPlan] = []
        for file, module in list(self._importer.loaded.items()):
            plan = self._importer.plans.get(file)
            if plan is None:  # a test
                continue
            self._send(ModuleStart(path=plan.path))  # looking at it may run the user's code
            examples += entries.examples(plan, module)
            models += entries.models(plan, module)
            functions += entries.functions(plan, module)
            returned += returned_functions(plan, module)
        self._send(ModuleStart(path=""))
        ordered = [entry for entry, _ in entries.not_parts(models)]
        self._classes = {entry.key: cls for entry, cls in models}
        functions, printing = self._apart_from_printing(functions)
        modelled = {(e.path, f"{e.target.partition(':')[2]}.__call__") for e in ordered}
        functions = [f for f in functions if (f.path, f.target.partition(":")[2]) not in modelled]
        listed = (*self._example_entries(), *examples, *ordered, *functions, *returned, *printing)
        result = (*map(self._with_body, listed), *self._snippets.entries(self._plans))
        self._entries = {e.key: e for e in result}
        return EntryList(entries=result)

    def _texts_with_calls(self) -> Iterator[CallingText]:
        """The files of the project, and the code in its documents."""
        for plan in self._plans.values():
            try:
                data = plan.source.encode("latin-1") or Path(plan.file).read_bytes()
            except OSError:
                continue
            yield CallingText(plan.path, data.decode("utf-8", "replace"))
        for snippet in self._settings.snippets:
            if snippet.kind != "main":  # which is in its file
                yield CallingText(snippet.path, "\n".join(block.text for block in snippet.blocks))

    def _note_source(self, path: str) -> None:
        """What an entry shows depends on a file from which it takes values."""
        self._recorder.touched.add((path, 0))

    def _apart_from_printing(self, functions: Sequence[EntryPlan]) -> tuple[list[EntryPlan], list[EntryPlan]]:
        """The functions with claims, and those that are only evaluated for what they print.

        Their arguments are anybody's guess, so that they show nothing of claims, of their own or of others.
        """
        unsaid = {
            (plan.path, each.scope)
            for plan in self._plans.values()
            for each in plan.described
            if each.spec == UNSAID and each.vague
        }
        printing = [each for each in functions if (each.path, each.scope) in unsaid]
        rest = [each for each in functions if (each.path, each.scope) not in unsaid]
        return rest, [replace(each, origin=PRINTING) for each in printing]

    def evaluate(self, *, key: str, seconds: float) -> EntryResults:
        """Run one entry, in not many more than `seconds`: its evaluations, and which functions ran in any of them."""
        entry = self._entries.get(key)
        if entry is None:
            return EntryResults(runs=(), touched=(), listed=False)
        self._recorder.touched = set()
        with self._global_state.preserve(), noted_reads() as reads:
            runs = self._evaluate_entry(entry, seconds)
        paths = self._recorder.paths
        read = sorted({(paths[file], line) for file, line in reads if file in paths})
        return EntryResults(runs=runs, touched=tuple(sorted(self._recorder.touched)), reads=tuple(read))

    def _evaluate_entry(self, entry: EntryPlan, seconds: float) -> tuple[Evaluation, ...]:
        plan = self._plans.get(entry.path)
        if plan is not None:
            self._importer.activate(plan.root)
        started = time.monotonic()
        try:
            if entry.origin == "script":
                return self._script(entry)
            if entry.origin == SNIPPET:
                return self._snippets.evaluate(entry)
            call_spec = self._call_spec(entry)
            with self._repeats as self._recorder.watch:
                search = functools.partial(EntrySearch, entry, call_spec, self._recorder)
                with self._generaliser.coincidences(entry.body) as apart:
                    found = with_keys(self._builder.models.keys, lambda left: search(left).evaluate(), seconds)
                if entry.origin == PRINTING:
                    return tuple(found)
                others = self._by_other_paths(entry, call_spec, found, started + seconds - time.monotonic())
            return (*found, *apart, *others)
        except (CannotSynthesiseError, UnknownSizeError, SpecError) as error:  # jaxtyping takes more than we evaluate
            return (_not_evaluated(entry, str(error)),)
        except ExampleError as error:
            return (_not_evaluated(entry, f"example: {error}"),)
        finally:
            self._recorder.watch = Watch()

    def _by_other_paths(
        self, entry: EntryPlan, call_spec: CallSpec, found: Sequence[Evaluation], seconds: float
    ) -> tuple[Evaluation, ...]:
        """What the function of an entry shows along the paths on which it was not `found`."""
        if entry.body is None:
            return ()
        plan = self._plans[entry.body[0]]
        module = self._importer.loaded.get(plan.file)
        if module is None:  # another copy of the file is what was imported
            return ()
        return tuple(
            evaluate_others(
                entry,
                plan,
                call_spec.signature.function,
                entries.owner_class(module, plan.scopes, plan.scopes[entry.body[1]]),
                found=found,
                call_specs=functools.partial(self._call_spec, entry),
                recorder=self._recorder,
                seconds=seconds,
            )
        )

    def _script(self, entry: EntryPlan) -> tuple[Evaluation, ...]:
        example = self._example(entry)
        limit = self._settings.script_limit
        self._generaliser.renew()
        self._generaliser.begin()
        try:
            ran = run_script(entry, example.script, example.argv, limit, self._importer, self._steps)
        finally:
            self._generaliser.end()
        return (ran, *(again for _, runs in self._generaliser.evaluate() for again in runs))

    def _call_spec(self, entry: EntryPlan, init: Statics = NO_STATICS, given: Statics = NO_STATICS) -> CallSpec:
        """How to run an entry, its constructor or its function with some arguments given."""
        if entry.origin == "config":
            example = self._example(entry)
            try:
                target = resolve_target(example.call, self._importer)
            except ExampleError as error:
                raise ExampleError(f"call = {example.call!r}: {error}") from None
            return configured_example(self._builder, example, target)
        plan = self._plans[entry.path]
        module = self._importer.loaded[plan.file]
        if entry.origin == "example":
            return decorated_example(self._builder, vars(module)[entry.target.partition(":")[2]])
        if entry.origin == "model":
            cls = self._classes[entry.key]
            return self._builder.method(cls, with_own_signature(cls.__call__, "__call__"), init, given)
        scope = plan.scopes[entry.scope or 0]
        maker = maker_of(plan.scopes, scope)
        if maker is not None:
            return self._builder.returned_function(entries.resolve(module, plan.scopes, maker), scope.qualname, given)
        function = entries.resolve(module, plan.scopes, scope)
        owner = entries.owner_class(module, plan.scopes, scope)
        if isinstance(function, staticmethod):
            return self._builder.function(function.__func__, given)
        if isinstance(function, classmethod) and owner is not None:
            return self._builder.function(function.__get__(None, owner), given)
        if isinstance(function, property):
            function = function.fget
        if isinstance(function, functools.cached_property):
            function = function.func
        for framework in loaded_frameworks():
            function = framework.unwrap_attribute(function, owner)
        if not callable(function):
            kind = type(function).__name__
            function = entries.find_original(function, scope.qualname)
            if function is None:
                raise CannotSynthesiseError(f"{scope.qualname} is of type {kind}, not a function")
        if owner is None:
            return self._builder.function(function, given)
        if scope.qualname.endswith(".__init__"):
            return self._builder.construct(owner, given)
        return self._builder.method(owner, function, init, given)

    def _with_body(self, entry: EntryPlan) -> EntryPlan:
        """The entry with the function that it runs."""
        if entry.origin == "model":
            return replace(entry, body=self._described.scope_of(self._classes[entry.key].__call__))
        return replace(entry, body=(entry.path, entry.scope) if entry.scope is not None else None)

    def _example_entries(self) -> list[EntryPlan]:
        examples, file = self._settings.examples, self._settings.config_file
        return [
            EntryPlan(
                key=f"config:{index}",
                target=f"example {index + 1} ({e.call or e.script})",
                origin=origin,
                path=file,
                line=1,
                scope=None,
            )
            for index, e in enumerate(examples)
            for origin in ["script" if e.script else "config"]
        ]

    def _example(self, entry: EntryPlan) -> ConfiguredExample:
        return self._settings.examples[int(entry.key.partition(":")[2])]


def _not_evaluated(entry: EntryPlan, reason: str) -> Evaluation:
    return entry.not_evaluated(reason, Failure(kind="other", message=reason, frame=None))
