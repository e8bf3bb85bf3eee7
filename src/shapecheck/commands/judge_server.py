"""What a running program asks, in a process of ours: what a file claims, and whether what was seen contradicts it.

The program may run in an interpreter without our dependencies, and must not meet them where they are. So one JSON
object a line goes each way, over pipes.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from shapecheck import files
from shapecheck.claims import read_module, read_notebook_context
from shapecheck.commands import suppress
from shapecheck.commands.module_plans import plan
from shapecheck.commands.module_reader import ModuleReader
from shapecheck.config import Config, ConfigError, load
from shapecheck.model import Claim, Finding, Module
from shapecheck.report import concise
from shapecheck.shapes import parse_spec
from shapecheck.verdicts import findings
from shapecheck.verdicts.judge import Verdicts, judge
from shapecheck.verdicts.messages import mismatch_finding
from shapecheck.worker.messages import wire
from shapecheck.worker.messages.judge_messages import (
    ContradictedClaim,
    ContradictedClaims,
    JudgeCall,
    JudgeRefusal,
    ObservationPlan,
    ReadCell,
    ReadFile,
)
from shapecheck.worker.messages.plans import ModulePlan, as_shown, later


class JudgeServer:
    """Knows the files that it was asked about, and what turned out to be true in this run."""

    def __init__(self) -> None:
        self._modules: dict[str, Module] = {}
        self._configs: dict[Path, Config] = {}
        self._config: dict[str, Config] = {}  # by shown path
        self._good: set[tuple[str, int]] = set()
        self._dims: set[str] = set()  # names that the cells of a notebook use as dims

    def answer(self, question: object) -> ObservationPlan | ContradictedClaims | JudgeRefusal:
        """What is answered to a request of the program."""
        try:
            match question:
                case ReadFile():
                    return self._read_file(question)
                case ReadCell():
                    return self._read_cell(question)
                case JudgeCall():
                    return ContradictedClaims(claims=tuple(self._judge(question)))
        except (ConfigError, OSError) as error:  # the program tells it
            return JudgeRefusal(reason=str(error))
        raise TypeError(f"the program sent {question!r}, which is no question")

    def _read_file(self, question: ReadFile) -> ObservationPlan:
        path, data = Path(question.file), question.text.encode("latin-1")
        config = self._config_for(path)
        name = later(files.shown_path(path), question.version)
        module = ModuleReader(config, {path: data}).read_file(path, data, name)
        return self._register(module, config, plan(path, module, config)) if module.claims else ObservationPlan()

    def _read_cell(self, question: ReadCell) -> ObservationPlan:
        name = question.name
        module = read_module(name, question.text.encode(), read_notebook_context(question.before, self._dims))
        if not module.claims:
            return ObservationPlan()
        self._dims.update(n for claim in module.claims if claim.sure for n in parse_spec(claim.spec).names())
        whole = ModulePlan(file=name, path=name, root="", name="__main__", scopes=module.scopes, sites=module.sites)
        return self._register(module, self._config_for(Path.cwd() / as_shown(name)), whole)

    def _config_for(self, path: Path) -> Config:
        if path.parent not in self._configs:
            self._configs[path.parent] = load([path])
        return self._configs[path.parent]

    def _register(self, module: Module, config: Config, whole: ModulePlan) -> ObservationPlan:
        self._modules[module.path], self._config[module.path] = module, config
        prompt = {site for claim in module.claims if _is_prompt(module, claim) for site in claim.sites}
        return ObservationPlan(plan=whole, prompt=tuple(sorted(prompt)))

    def _judge(self, question: JudgeCall) -> Iterator[ContradictedClaim]:
        """What the last call contradicts. What a comment means depends on all others of its scope."""
        evaluation = question.evaluation
        modules = {call.path: self._modules[call.path] for call in evaluation.calls}
        verdicts = judge(modules, [[evaluation]])
        self._good |= verdicts.good
        known = Verdicts(good={key for key in self._good if key[0] in modules}, bad=verdicts.bad)
        sure = findings.reportable(modules, known, strict=False)
        last = evaluation.calls[-1]
        for key, false in sorted(verdicts.bad.items(), key=lambda item: item[0]):
            module = modules[key[0]]
            claim = module.claims[key[1]]
            is_last = false.mismatch.call.number == last.number
            if key in sure and is_last and (question.over or _is_prompt(module, claim)):
                yield from map(_to_message, self._drop_suppressed(module, mismatch_finding(module, claim, false)))

    def _drop_suppressed(self, module: Module, finding: Finding) -> list[Finding]:
        path, config = as_shown(module.path), self._config[module.path]
        shown = dataclasses.replace(finding, path=path), dataclasses.replace(module, path=path)
        return list(suppress.apply([shown[0]], [shown[1]], config).findings)


def _is_prompt(module: Module, claim: Claim) -> bool:
    return claim.notation == "annotation" and all(module.sites[s].kind != "field" for s in claim.sites)


def _to_message(finding: Finding) -> ContradictedClaim:
    head = "".join(text for text, _ in concise.headline(finding))
    text = "\n".join([head, *(f"  {as_shown(detail)}" for detail in finding.details)])
    return ContradictedClaim(code=finding.code, path=finding.path, line=finding.span.line, text=text)


def main() -> None:
    """Answer until the program closes the pipe."""
    commands, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    server = JudgeServer()
    for line in commands:
        _send(answers, server.answer(wire.load(line)))


def _send(answers: BinaryIO, answer: object) -> None:
    try:
        answers.write(wire.dump(answer).encode() + b"\n")
        answers.flush()
    except BrokenPipeError:  # the program has ended
        os._exit(0)
