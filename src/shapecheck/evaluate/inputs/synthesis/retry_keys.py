"""Searches with other random keys than the usual ones, where these may be to blame for what the first search found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from shapecheck.evaluate.inputs.synthesis.synthesise_values import CannotSynthesiseError
from shapecheck.evaluate.inputs.trials.choices import KeyChoice, Keys
from shapecheck.evaluate.limits import Stopwatch
from shapecheck.model import ArrayValue, Assumption, Evaluation, Failure

Evaluations = tuple[Evaluation, ...]

_PATIENCE = 10.0  # seconds after which nothing else is tried


def with_keys(keys: Keys, search: Callable[[float], Evaluations], seconds: float) -> Evaluations:
    """What `search` finds in so many seconds, with the usual keys or others.

    A key that may be left out is left out if the code cannot do with it; one of the other kind mends nothing where
    Python decides on a value. What claims say of keys is tried for both kinds: `# (n,)` is as true of
    `jax.random.split(key, n)` as `# (n, 2)`. Raises CannotSynthesiseError as the first search does, if no other finds
    anything.
    """
    watch = Stopwatch()
    keys.optional = keys.open = False
    found: Evaluations = ()
    problem: CannotSynthesiseError | None = None
    try:
        found = search(seconds)
    except CannotSynthesiseError as error:
        problem = error
    is_to_blame = _is_to_blame(found)
    may_mend = is_to_blame and not any(each.failure is not None and each.failure.kind == "value" for each in found)
    others: list[KeyChoice] = ["other kind"] if keys.open and (may_mend or _holds_keys(found)) else []
    others += ["left out"] if keys.optional and is_to_blame else []
    for choice in others:
        spent = watch.seconds()
        if spent > min(_PATIENCE, seconds):
            break
        again = _again(keys, choice, search, seconds - spent)
        if again:
            return again if is_to_blame else (*found, *map(_of_other_kind, again))
    if problem is not None:
        raise problem
    return found


def _of_other_kind(evaluation: Evaluation) -> Evaluation:
    """What is seen with the other kind of key is another case, and no other size of the same."""
    kind = Assumption("value", "random keys", "the other kind", "given")
    return replace(evaluation, assumptions=(*evaluation.assumptions, kind))


def _again(keys: Keys, choice: KeyChoice, search: Callable[[float], Evaluations], seconds: float) -> Evaluations:
    """What evaluates with other keys."""
    keys.choice = choice
    try:
        return tuple(each for each in search(seconds) if each.status == "ok")
    except CannotSynthesiseError:
        return ()
    finally:
        keys.choice = "usual"


def _is_to_blame(found: Evaluations) -> bool:
    """Whether nothing evaluates, and not for a shape error of arrays that are no keys: that is the code's own."""
    failures = [each.failure for each in found if each.failure is not None]
    return all(each.status != "ok" for each in found) and all(map(_may_be_of_a_key, failures))


def _may_be_of_a_key(failure: Failure) -> bool:
    return failure.kind != "shape" or any(text.startswith(("uint32[", "key<")) for _, text in failure.arrays)


def _holds_keys(found: Evaluations) -> bool:
    """Whether what was observed has several keys in one array."""
    values = (o.value for each in found for call in each.calls for o in call.observations)
    return any(isinstance(v, ArrayValue) and _are_keys(v) for v in values)


def _are_keys(value: ArrayValue) -> bool:
    if value.dtype.startswith("key<"):
        return len(value.shape) > 0
    return value.dtype == "uint32" and len(value.shape) > 1 and value.shape[-1] == "2"
