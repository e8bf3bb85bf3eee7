"""What to give where a target cannot be evaluated as it is asked for: what was made up, and a command to paste."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from shapecheck.worker.messages.target_messages import TargetRefusal

# Which axis, argument or part it is, and no size: `axis 0`, `carry[1][0]`; but not the size in `float32[3]`.
_PLACE = re.compile(
    r"\b(?:ax[ei]s|arguments?|operands?|dimensions?|inputs?|outputs?|components?|index) \d+"
    r"|\b(?!(?:float|bfloat|int|uint|complex|bool)\d*\b)\w+(?:\[\d+\])+"
)
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")


def suggest_for_refusal(
    command: Sequence[str],
    refusal: TargetRefusal,
    made: Mapping[str, int],
    places: Mapping[str, str],
    init: str = "--init",
) -> str:
    """What to do about a target that cannot be run; integers were `made` up, which constructors take at these places.

    `init` is the option that gives what its constructor takes.
    """
    if refusal.missing:
        return _suggest_for_missing(command, refusal, init)
    return suggest_for_invented(command, refusal.error, made, places, init=init)


def _suggest_for_missing(command: Sequence[str], refusal: TargetRefusal, init: str) -> str:
    """What to do about parameters for which nothing can be made up: those of a constructor or of the call."""
    parameters = refusal.missing
    constructed = shlex.join([*command, init, ",".join(f"{name}=..." for name in parameters)])
    if refusal.constructing:
        return f"Give what is missing: {constructed}"
    if any("." in name for name in parameters):  # of a model among the arguments, which no option reaches
        return "Name a function of no arguments that returns (callable, *args)."
    shapes = [part for name, example in parameters.items() for part in ("--arg", f"{name}={example}")]
    text = (
        f"Say what it is called with, such as {shlex.join([*command, *shapes])} (or a value: "
        f"{next(iter(parameters))}=0.5); names in a shape are free sizes, or those that the constructor has."
    )
    return f"{text} Or, if it makes a model: {constructed}" if refusal.factory else text


def suggest_for_invented(
    command: Sequence[str],
    message: str,
    sizes: Mapping[str, int],
    places: Mapping[str, str],
    free: Sequence[str] = (),
    init: str = "--init",
) -> str:
    """What was made up when an evaluation failed with this message, and what may fit better; "" if nothing was.

    Names that are `free` had symbols for sizes, or numbers that nobody gave.
    """
    sizes_text = ", ".join(f"{places.get(name, name)}={size}" for name, size in sorted(sizes.items()))
    better = _better(message, {places[name]: size for name, size in sizes.items() if name in places}, init)
    lines = []
    if better is not None:
        lines.append(
            f"Made up, for nobody gave them: {sizes_text}. Another size may fit: {shlex.join([*command, *better])}"
        )
    elif sizes:
        lines.append(f"Made up, for nobody gave them: {sizes_text}. {init} and --arg choose others.")
    if free and better is None:
        lines.append(f"Free sizes are {', '.join(free)}: --arg gives an argument other sizes.")
    return "\n".join(lines)


def other_layout(other: str, given: Sequence[str]) -> str:
    """What to do about a model that does not run with what `other` is given."""
    return (
        f"It was given what {other} takes: {', '.join(given)}. If it takes that in another layout (batched, or NHWC), "
        "let each target be a function that returns (model, *inputs), with the same numbers in its own layout."
    )


def _better(message: str, sizes: Mapping[str, int], init: str) -> list[str] | None:
    """`--init name=size`: a size that the message has once was made up, and there is one other that it could have."""
    numbers = [int(text) for text in _NUMBER.findall(_PLACE.sub("", message)) if int(text)]
    named = [name for name, size in sizes.items() if numbers.count(size) == 1 and list(sizes.values()).count(size) == 1]
    others = [number for number in dict.fromkeys(numbers) if number not in sizes.values()]
    others = others if len(others) == 1 else [number for number in others if number > 1]
    if len(named) == 1 and len(others) == 1:
        return [init, f"{named[0]}={others[0]}"]
    is_pair = len(named) == 2 and not others
    return [init, f"{named[0]}={sizes[named[1]]}"] if is_pair else None
