"""Messages as lines of JSON: all data classes of this room, and those of the model that stand in them."""

from __future__ import annotations

import dataclasses
from types import ModuleType

from shapecheck import model
from shapecheck.model.plain_facts import PlainFacts
from shapecheck.worker.messages import entry_messages, judge_messages, plans, protocol, suite_messages, target_messages


def _messages_of(module: ModuleType) -> list[type]:
    classes = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    return [each for each in classes if dataclasses.is_dataclass(each)]


_TOPICS = (entry_messages, judge_messages, plans, protocol, suite_messages, target_messages)
_FACTS = PlainFacts(
    model.Scope,
    model.DescribedPart,
    model.InferredParameter,
    model.DocstringHint,
    model.Site,
    model.Switch,
    model.Position,
    model.ArrayValue,
    model.TreeValue,
    model.OtherValue,
    model.NamedSize,
    model.Observation,
    model.Frame,
    model.Call,
    model.Failure,
    model.Assumption,
    model.Evaluation,
    model.Stage,
    model.Tensor,
    model.StageRun,
    model.StageOutput,
    model.ComparedStage,
    model.ArrayMismatch,
    model.ComparedRuns,
    model.Tolerance,
    model.Span,
    model.Claim,
    model.DebugCall,
    model.Module,
    model.NearName,
    model.Problem,
    model.Suppression,
    model.CodeBlock,
    model.Snippet,
    *(each for topic in _TOPICS for each in _messages_of(topic)),
)
dump, load = _FACTS.dump, _FACTS.load
to_plain, from_plain = _FACTS.to_plain, _FACTS.from_plain
