"""What the names of a description mean where a function that is called has it: what they are to its caller.

`linear(w, x)` says `# w: (d_in, d_out)` and `# x: (batch, d_in)`. Where it is called with an x that the caller has as
`(n, d)`, its w is `(d, d_out)` there. The name that is left over is that call's own: another call may have another
size for it.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import types
from collections.abc import Callable, Iterator, Mapping

from shapecheck.evaluate.inputs.facts.handed_arguments import HandedArgument
from shapecheck.evaluate.inputs.facts.handed_parts import FunctionParts
from shapecheck.shapes import Dim, FixedDim, NamedDim, further_name, is_variadic, parse_spec, print_spec, rename_names
from shapecheck.worker.messages.plans import ParameterSpec

_Look = Callable[[str], "ParameterSpec | None"]
_Words = Mapping[str, tuple["str | int", str]]
"""The words of a callee: what the caller says for each, and the call whose own name that is, or ""."""


class CalleeNames:
    """Translates descriptions from the functions that one function calls into its own words.

    `look` gives what is said of a parameter of this function, or of a part, as far as it is known; `look_at` what a
    function that is called has of its own.
    """

    def __init__(
        self,
        parts: FunctionParts,
        look: _Look,
        look_at: Callable[[types.FunctionType, str], ParameterSpec | None],
    ) -> None:
        self._parts, self._look, self._look_at = parts, look, look_at

    def translate(self, said: ParameterSpec, handed: HandedArgument) -> ParameterSpec:
        """A description that the function has which is called there, as the caller would have it."""
        words, place = self._words(handed), self._place(handed)
        inner = dict(said.foreign)
        renamed: dict[str, str | int] = {}
        foreign: dict[str, str] = {}
        taken = {word for word, _ in words.values()}
        specs = [parse_spec(text) for text in (said.spec, *said.others)]
        for name in dict.fromkeys(each for spec in specs for each in spec.names() if each.isidentifier()):
            if name in words and name not in inner:
                word, owner = words[name]
                renamed[name] = word
                if owner and isinstance(word, str):
                    foreign[word] = owner
                continue
            owner = f"{place}_{inner[name]}" if name in inner else place
            own = further_name(name, owner) if name in taken else name
            renamed[name] = own
            foreign[own] = owner
        text, *others = (print_spec(rename_names(spec, renamed)) for spec in specs)
        return dataclasses.replace(said, spec=text, others=tuple(others), foreign=tuple(foreign.items()))

    def _place(self, handed: HandedArgument) -> str:
        """The call, by the name of the function and the number of its call in the text: `linear_2`."""
        same = (call for call, given in self._parts.calls.items() if given[0].callee is handed.callee)
        number = 1 + sorted(same).index(handed.call)
        return f"{getattr(handed.callee, '__name__', '')}_{number}"

    def _words(self, handed: HandedArgument) -> _Words:
        """What the caller says for the words of the function that it calls there, by the arguments that both know."""
        found: dict[str, tuple[str | int, str]] = {}
        for argument, callee, parameter, mapped, _ in self._parts.calls.get(handed.call, ()):
            given = self._parts.own.part(argument)
            if given is None or callee is None:
                if isinstance(argument, ast.Constant) and type(argument.value) is int:
                    found.setdefault(parameter, (argument.value, ""))
                continue
            mine, theirs = self._look(str(given)), self._look_at(callee, parameter)
            if mine is None and theirs is None and not given.keys:
                found.setdefault(parameter, (given.parameter, ""))  # an integer by whose name dims go
            if mine is None or theirs is None or mine.vague or theirs.vague:
                continue
            owners = dict(mine.foreign)
            for dim, other in _pairs(theirs.spec, mine.spec, 1 if mapped else 0):
                if isinstance(dim, NamedDim) and isinstance(other, (NamedDim, FixedDim)):
                    word = other.name if isinstance(other, NamedDim) else other.size
                    found.setdefault(dim.name, (word, owners.get(str(word), "")))
        return found


def _pairs(theirs: str, mine: str, mapped: int) -> Iterator[tuple[Dim, Dim]]:
    """The axes of one array as two texts have them, as far as these have the same ones.

    From the front and from the back up to where one leaves open how many there are. The second text has as many axes
    more in front as are `mapped`.
    """
    one, other = parse_spec(theirs).dims, parse_spec(mine).dims[mapped:]
    if not any(map(is_variadic, (*one, *other))):
        if len(one) == len(other):
            yield from zip(one, other, strict=True)
        return
    for first, second in ((one, other), (one[::-1], other[::-1])):
        both = zip(first, second, strict=False)
        yield from itertools.takewhile(lambda pair: not is_variadic(pair[0]) and not is_variadic(pair[1]), both)
