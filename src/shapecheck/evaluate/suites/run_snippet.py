"""Code of docs, docstrings and examples, run abstractly statement by statement, and never held against anybody.

A statement that cannot run, since it is meant to be read, or asks for a network, is left out, and what it may have left
half-done is not used any more. What it called shows nothing, where that raised: who knows whether the arguments are
what they should be.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Literal

import jax

from shapecheck.evaluate.inputs.facts.parameter_facts import is_variable
from shapecheck.evaluate.inputs.trials.failure_reasons import describe_error, explain, kind_of
from shapecheck.evaluate.limits import TimeLimitError
from shapecheck.evaluate.own_errors import HANDLE, is_own
from shapecheck.evaluate.parse_python import parse_python
from shapecheck.evaluate.probes.ast_probes import OUTERMOST, instrument
from shapecheck.evaluate.probes.constant_values import eval_shape
from shapecheck.evaluate.probes.probe_importer import PlanImporter
from shapecheck.evaluate.probes.probe_runtime import ModuleProbe
from shapecheck.evaluate.probes.recorder import OpenCall, Recorder
from shapecheck.evaluate.probes.tolerate_concrete import STEP, Steps, with_steps
from shapecheck.evaluate.probes.user_caches import forget
from shapecheck.evaluate.suites.generalise import Generaliser
from shapecheck.evaluate.suites.run_script import as_program, main_module
from shapecheck.model import SNIPPET, CodeBlock, Evaluation, Failure, Snippet
from shapecheck.worker.messages.plans import EntryPlan, ModulePlan

Variables = dict[str, object]
MODULE_SCOPE = 0
"""The scope of what stands in no function or class of a file."""
_ANNOTATIONS = __future__.annotations
_OURS = ("__shapecheck", "__sc_")
# Programs that ask others for data, or tell them of a run, give up at once instead of trying again.
_OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "WANDB_MODE": "disabled", "MPLBACKEND": "Agg"}
# What a statement that fails half-way cannot have changed.
_UNCHANGED = (ModuleType, type, FunctionType, BuiltinFunctionType, jax.Array, int, float, complex, str, bytes)


@dataclass
class _Outcome:
    """How far a snippet came."""

    reason: str = ""  # of the first statement that could not run
    failure: Failure | None = None  # of that, if it is an error of shapes in a program that is meant to run


@dataclass(frozen=True)
class _Statement:
    node: ast.stmt
    code: CodeType
    place: str
    raises: bool


class SnippetRunner:
    """Runs snippets, each within `limit` seconds. Docs know the modules that are `implied`, by their names there."""

    def __init__(
        self, importer: PlanImporter, generaliser: Generaliser, steps: Steps, limit: float, implied: Mapping[str, str]
    ) -> None:
        self.implied = implied
        self.importer, self.generaliser, self.steps, self.limit = importer, generaliser, steps, limit
        self.recorder: Recorder = importer.recorder

    def run(self, entry: EntryPlan, snippet: Snippet) -> Evaluation:
        """Run it once under `jax.eval_shape`. What it showed until its end, or that of its time, counts."""
        outcome = _Outcome()
        self.recorder.begin()
        forget()
        self.steps.reset(abstract=True)
        try:
            with self._surroundings(snippet), self._variables(snippet) as variables:
                eval_shape(lambda: self._run_blocks(snippet, variables, outcome), of_sizes=True)
        except TimeLimitError:
            outcome.reason = f"it took longer than {self.limit:g} s (--test-timeout)"
        except SystemExit as error:
            outcome.reason = outcome.reason or ("" if error.code in (None, 0) else describe_error(error))
        except BaseException as error:  # of what JAX does when all was traced
            if is_own(error):
                raise
            outcome.reason = outcome.reason or describe_error(error)
        status: Literal["ok", "stopped"] = "stopped" if outcome.reason else "ok"
        return Evaluation(
            target=entry.target,
            origin=SNIPPET,
            path=entry.path,
            line=entry.line,
            mode="sized",
            status=status,
            reason=outcome.reason,
            failure=outcome.failure,
            calls=self.recorder.finish(),
        )

    def _run_blocks(self, snippet: Snippet, variables: Variables, outcome: _Outcome) -> None:
        for block in snippet.blocks:
            try:
                statements = self._statements(snippet, block)
            except (SyntaxError, ValueError, RecursionError) as error:  # a newer Python's, or a part of a function
                place = f"{_in_cell(snippet.path, block)}, line {block.line}"
                outcome.reason = outcome.reason or f"{place}: {describe_error(error)}"
                continue
            for statement in statements:
                self._run_statement(statement, variables, outcome, is_program=snippet.kind == "main")

    def _statements(self, snippet: Snippet, block: CodeBlock) -> list[_Statement]:
        file, path = _in_cell(snippet.file, block), _in_cell(snippet.path, block)
        self.recorder.paths.setdefault(file, path)
        if snippet.kind == "script":
            plan = self._plan(snippet)
            tree = with_steps(instrument(block.text.encode(), file, plan.scopes, plan.sites), everywhere=True)
        elif snippet.kind == "main" and (probed := self._probed_block(snippet, block)) is not None:
            tree = with_steps(probed, in_docs=True)
        else:
            tree = with_steps(ast.increment_lineno(parse_python(block.text), block.line - 1), in_docs=True)
        flags = _ANNOTATIONS.compiler_flag if any(map(_asks_for_texts, tree.body)) else 0
        found: list[_Statement] = []
        for node in tree.body:
            code = compile(ast.Module([node], []), file, "exec", flags, dont_inherit=True)
            found.append(_Statement(node, code, f"{path}, line {node.lineno}", block.raises))
        return found

    def _probed_block(self, snippet: Snippet, block: CodeBlock) -> ast.Module | None:
        """The block that a module runs as a program, with probes for its claims; None if it is not to be read."""
        plan = self.importer.plans.get(os.path.realpath(snippet.file))
        if plan is None or MODULE_SCOPE not in plan.claimed:
            return None
        try:
            source = plan.source.encode("latin-1") or Path(plan.file).read_bytes()
        except OSError:  # it is gone
            return None
        body = instrument(source, plan.file, plan.scopes, plan.sites).body
        opening = [each for each in body if isinstance(each, ast.Assign) and is_variable(each.targets[0], OUTERMOST)]
        around = next((each for each in body if isinstance(each, ast.If) and _holds_line(each, block.line)), None)
        return ast.Module([*opening, *around.body], []) if around is not None else None

    def _run_statement(
        self, statement: _Statement, variables: Variables, outcome: _Outcome, *, is_program: bool
    ) -> None:
        """Run it; what fails is left out. The first shape error of a program is one of the code that it runs."""
        recorder = self.recorder
        before, take_back = len(recorder.calls), self.generaliser.checkpoint()
        recorder.active = not statement.raises
        try:
            exec(statement.code, variables)  # noqa: S102 - what the user shows readers to run
        except (TimeLimitError, SystemExit) as error:
            recorder.interrupt(error)
            raise
        except BaseException as error:  # code may raise anything
            if is_own(error):
                raise
            recorder.interrupt(error)
            failure = explain(error, recorder) if is_program and not outcome.reason else None
            if failure is not None and failure.kind == "shape" and _reached_others(error, statement.code.co_filename):
                outcome.failure, outcome.reason = failure, f"{statement.place}: {describe_error(error)}"
                return
            calls = recorder.calls[before:]
            sound = [call for call in calls if _outermost(call).complete]
            if len(sound) < len(calls) and kind_of(error) != "value":
                recorder.calls[before:] = sound
                take_back()
            _drop_touched(statement.node, variables, _reached_others(error, statement.code.co_filename))
            if not (outcome.reason or statement.raises):
                outcome.reason = f"{statement.place}: {describe_error(error)}"
        finally:
            recorder.active = True

    def _plan(self, snippet: Snippet) -> ModulePlan:
        file = os.path.realpath(snippet.file)
        return self.importer.plans.get(file) or self.importer.plan_without_claims(file, "__main__")

    @contextlib.contextmanager
    def _variables(self, snippet: Snippet) -> Iterator[Variables]:
        """Its variables: a module's own where it stands in one, and those of a program's main module else."""
        home = self.importer.loaded.get(os.path.realpath(snippet.file)) if snippet.kind != "script" else None
        if home is not None and snippet.kind == "main":  # functions of the module may use what it sets
            kept = dict(vars(home))
            vars(home)[STEP] = self.steps
            try:
                with _apart_from_program(kept):
                    yield vars(home)
            finally:
                vars(home).clear()
                vars(home).update(kept)
            return
        with main_module(snippet.file) as module:
            if snippet.kind != "script":  # docs leave out what everybody knows: `import jax.numpy as jnp`
                modules = {name: sys.modules.get(dotted) for name, dotted in self.implied.items()}
                vars(module).update({name: each for name, each in modules.items() if each is not None})
            if home is not None:
                vars(module).update(vars(home))
            elif snippet.kind == "script":
                plan = self._plan(snippet)
                vars(module)[HANDLE] = ModuleProbe(self.recorder, plan.path, plan.scopes, plan.sites)
            vars(module)[STEP] = self.steps
            yield vars(module)

    def _surroundings(self, snippet: Snippet) -> contextlib.AbstractContextManager[None]:
        """A folder to write to, an argument list, no network, no other process, and an end."""
        folder = os.path.dirname(os.path.abspath(snippet.file))
        project = [folder, *{plan.root for plan in self.importer.plans.values() if plan.root}]
        os.environ.update(_OFFLINE)
        first_path = folder if snippet.kind == "script" else None
        return as_program([snippet.file], self.limit, project, first_path=first_path, alone=True)


@contextlib.contextmanager
def _apart_from_program(variables: Mapping[str, object]) -> Iterator[None]:
    """Let no claim of a module mean what the program at its end sets, unless the claim's function reads that.

    `n = 4` there is the size of one of its inputs.
    """
    probe = variables.get(HANDLE)
    if not isinstance(probe, ModuleProbe):
        yield
        return
    probe.imported = frozenset(variables)
    try:
        yield
    finally:
        probe.imported = None


def _holds_line(node: ast.If, number: int) -> bool:
    return node.lineno <= number <= (node.end_lineno or node.lineno)


def _outermost(call: OpenCall) -> OpenCall:
    while call.outer is not None:
        call = call.outer
    return call


def _in_cell(file: str, block: CodeBlock) -> str:
    """What a file goes by, or a cell of the notebook that it is."""
    return f"{file}:cell {block.cell}" if block.cell else file


def _asks_for_texts(statement: ast.stmt) -> bool:
    """Whether it is `from __future__ import annotations`."""
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _reached_others(error: BaseException, file: str) -> bool:
    """Whether the error comes from code that the snippet called, which may have begun to change something."""
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    return files[-1:] != [file]


def _drop_touched(statement: ast.stmt, variables: Variables, reached_others: bool) -> None:
    """Forget what a statement that failed was about to bind, and what it may have changed half-way."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            name, is_bound = node.id, isinstance(node.ctx, ast.Store)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name, is_bound = node.name, True
        else:
            continue
        may_differ = reached_others and name in variables and not isinstance(variables[name], _UNCHANGED)
        if (is_bound or may_differ) and not name.startswith(_OURS):
            variables.pop(name, None)
